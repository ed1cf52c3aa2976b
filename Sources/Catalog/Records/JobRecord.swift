package import PipelineModel

/// A job of an asset, for `show` and `explain`.
package struct JobRecord: Hashable, Sendable {
  package var stage: String
  package var state: LedgerState
  package var attempts: Int
  package var failureClass: String?
  package var reason: String?
  package var facts: JSONValue?
  /// Seconds that the last attempt took.
  package var seconds: Double?
  package var finishedAt: Timestamp?
  /// When a transient failure is tried again.
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
