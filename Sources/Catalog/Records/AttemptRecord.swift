package import PipelineModel

/// One attempt at a job, for `show`.
package struct AttemptRecord: Hashable, Sendable {
  /// The outcome of an attempt.
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case done, skipped, failed
    /// The process ended while the attempt was running.
    case interrupted
  }

  /// When it was claimed.
  package var startedAt: Timestamp
  /// When it ended; `nil` while it is running.
  package var endedAt: Timestamp?
  /// How it ended; `nil` while it is running.
  package var outcome: Outcome?
  /// The class of its failure.
  package var failureClass: String?
  /// Why it failed or was skipped.
  package var reason: String?
  /// The duration in seconds.
  package var seconds: Double?
  /// The plugin and decoder versions.
  package var runtime: String
  /// The limits, as JSON.
  package var limits: String
  /// Whether it ran alone because earlier attempts were interrupted.
  package var isSuspect: Bool

  /// Creates a record.
  package init(
    startedAt: Timestamp, endedAt: Timestamp? = nil, outcome: Outcome? = nil,
    failureClass: String? = nil, reason: String? = nil, seconds: Double? = nil, runtime: String,
    limits: String, isSuspect: Bool
  ) {
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.outcome = outcome
    self.failureClass = failureClass
    self.reason = reason
    self.seconds = seconds
    self.runtime = runtime
    self.limits = limits
    self.isSuspect = isSuspect
  }
}
