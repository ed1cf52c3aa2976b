package import PipelineModel

/// One execution of `run`, `import` or a burst of `watch`.
package struct RunRecord: Hashable, Sendable {
  package var id: AssetID
  package var verb: String
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// The counters of its summary.
  package var counters: [String: Int]

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
