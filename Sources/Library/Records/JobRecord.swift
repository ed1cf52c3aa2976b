package import PipelineModel

/// A job of an asset, for `show` and `explain`.
package struct JobRecord: Hashable, Sendable {
  package var stage: String
  package var state: LedgerState
  /// The number of attempts, including interrupted ones.
  package var attempts: Int
  /// `permanent`, `transient` or `environment`; `nil` unless it failed.
  package var failureClass: String?
  /// The reason for the state, as a sentence.
  package var reason: String?
  package var facts: JSONValue?
  /// The duration of the last attempt in seconds.
  package var seconds: Double?
  /// When the last attempt ended.
  package var finishedAt: Timestamp?
  /// When a transient failure is due for retry.
  package var notBefore: Timestamp?

  package init(
    stage: String, state: LedgerState, attempts: Int, failureClass: String? = nil,
    reason: String? = nil, facts: JSONValue? = nil, seconds: Double? = nil,
    finishedAt: Timestamp? = nil, notBefore: Timestamp? = nil
  ) {
    self.stage = stage
    self.state = state
    self.attempts = attempts
    self.failureClass = failureClass
    self.reason = reason
    self.facts = facts
    self.seconds = seconds
    self.finishedAt = finishedAt
    self.notBefore = notBefore
  }
}

/// A failed job, for `failed`.
package struct FailureRecord: Hashable, Sendable {
  package var asset: AssetID
  package var name: BytePath
  package var stage: String
  /// `permanent`, `transient` or `environment`.
  package var failureClass: String
  /// The reason, as a sentence.
  package var reason: String
  /// The number of attempts, including interrupted ones.
  package var attempts: Int

  package init(
    asset: AssetID, name: BytePath, stage: String, failureClass: String, reason: String,
    attempts: Int
  ) {
    self.asset = asset
    self.name = name
    self.stage = stage
    self.failureClass = failureClass
    self.reason = reason
    self.attempts = attempts
  }
}

/// One attempt at a job, for `show`.
package struct AttemptRecord: Hashable, Sendable {
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case done, skipped, failed
    /// The process ended while the attempt was running.
    case interrupted
  }

  package var startedAt: Timestamp
  /// When it ended; `nil` while it is running.
  package var endedAt: Timestamp?
  /// How it ended; `nil` while it is running.
  package var outcome: Outcome?
  package var failureClass: String?
  /// Why it failed or was skipped.
  package var reason: String?
  package var seconds: Double?
  package var runtime: String
  package var limits: String
  /// Whether it ran alone because earlier attempts were interrupted.
  package var isSuspect: Bool

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
