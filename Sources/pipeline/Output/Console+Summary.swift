import PipelineModel

extension Console {
  /// Says what a verb came to: as an event, or as a sentence where somebody watches.
  func summary(_ event: String, _ members: [String: JSONValue], _ sentence: String) {
    if isJSON {
      self.event(event, members)
    } else if isTerminal || isVerbose {
      message(sentence)
    }
  }
}
