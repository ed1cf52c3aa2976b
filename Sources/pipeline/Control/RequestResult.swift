import PipelineModel

/// The result of a request.
struct RequestResult: Codable, Hashable, Sendable {
  /// The members of the verb's last JSON event.
  var members: [String: JSONValue]
  /// The run that the request began, to be ended with its counters.
  var run: AssetID?

  /// An integer member; 0 if there is none.
  func count(_ name: String) -> Int { members[name]?.integer ?? 0 }
}
