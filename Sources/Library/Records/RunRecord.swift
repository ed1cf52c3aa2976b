package import PipelineModel

/// One execution of `run`, `import` or a burst of `watch`.
package struct RunRecord: Hashable, Sendable {
  package var id: AssetID
  package var verb: String
  package var startedAt: Timestamp
  /// When it ended; `nil` while it is running.
  package var endedAt: Timestamp?
  package var counters: [String: Int]

  /// The verb of a run known only from the manifest.
  package static let unknownVerb = "unknown"

  package init(
    id: AssetID, verb: String, startedAt: Timestamp, endedAt: Timestamp? = nil,
    counters: [String: Int] = [:]
  ) {
    self.id = id
    self.verb = verb
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.counters = counters
  }
}
