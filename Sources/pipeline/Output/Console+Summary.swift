import PipelineModel

extension Console {
  /// Ends a list with a total, on a terminal or if the list needs attention.
  ///
  /// - Parameter isTrouble: whether the list is of failures.
  func total(_ text: String, isTrouble: Bool = false) {
    guard !isJSON, isTerminal || isTrouble else { return }
    // The list comes first if both go to the same place.
    flush()
    message(text)
  }

  /// Reports the result of a verb, as an event or, on a terminal, as a sentence.
  ///
  /// - Parameter isDryRun: whether nothing was changed, so the sentence is the result.
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
