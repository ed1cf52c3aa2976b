package import PipelineModel

/// A job of an asset, for `show` and `explain`.
package struct JobRecord: Hashable, Sendable {
  /// The name of the stage.
  package var stage: String
  /// The state.
  package var state: LedgerState
  /// The number of attempts, including interrupted ones.
  package var attempts: Int
  /// `permanent`, `transient` or `environment`; `nil` unless it failed.
  package var failureClass: String?
  /// The reason for the state, as a sentence.
  package var reason: String?
  /// The facts, as JSON.
  package var facts: JSONValue?
  /// The duration of the last attempt in seconds.
  package var seconds: Double?
  /// When the last attempt ended.
  package var finishedAt: Timestamp?
  /// When a transient failure is due for retry.
  package var notBefore: Timestamp?

  /// Creates a record.
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
