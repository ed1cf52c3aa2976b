import PipelineModel

/// What came of a request.
struct RequestResult: Codable, Hashable, Sendable {
  /// The members of the verb's last event.
  var members: [String: JSONValue]
  /// The run that it made, which is to end with its counters.
  var run: AssetID?

  /// A number among the members, 0 if there is none.
  func count(_ name: String) -> Int { members[name]?.integer ?? 0 }
}
