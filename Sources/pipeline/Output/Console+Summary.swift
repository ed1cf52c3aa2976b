import PipelineModel

extension Console {
  /// Ends a list for people who watch, or who have to do something about what is in it.
  ///
  /// - Parameter isTrouble: whether the list is of what failed.
  func total(_ text: String, isTrouble: Bool = false) {
    guard !isJSON, isTerminal || isTrouble else { return }
    // The list comes first where both go to the same place.
    flush()
    message(text)
  }

  /// Says what a verb came to: as an event, or as a sentence where somebody watches.
  ///
  /// - Parameter isDryRun: whether nothing was done, so that the sentence is all there is to see.
  func summary(
    _ event: String, _ members: [String: JSONValue], _ sentence: String, isDryRun: Bool = false
  ) {
    if isJSON {
      var members = members
      if isDryRun { members["dryRun"] = true }
      self.event(event, members)
    } else if isDryRun {
      result(sentence)
    } else if isTerminal || isVerbose {
      message(sentence)
    }
  }
}
