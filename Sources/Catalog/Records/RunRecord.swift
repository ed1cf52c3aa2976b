package import PipelineModel

/// One execution of `run`, `import` or a burst of `watch`.
package struct RunRecord: Hashable, Sendable {
  /// The key.
  package var id: AssetID
  /// The verb that was run.
  package var verb: String
  /// When it began.
  package var startedAt: Timestamp
  /// When it ended; `nil` while it is running.
  package var endedAt: Timestamp?
  /// The counters of its summary.
  package var counters: [String: Int]

  /// The verb of a run known only from the manifest.
  package static let unknownVerb = "unknown"

  /// Creates a record.
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
