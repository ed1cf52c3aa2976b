package import PipelineModel

/// A job of an asset, for `show` and `explain`.
package struct JobRecord: Hashable, Sendable {
  /// The stage by its name.
  package var stage: String
  /// What is going on with it.
  package var state: LedgerState
  /// How many attempts there were.
  package var attempts: Int
  /// `permanent`, `transient` or `environment`; `nil` unless it failed.
  package var failureClass: String?
  /// Why, as a sentence.
  package var reason: String?
  /// What was found out, as JSON.
  package var facts: JSONValue?
  /// Seconds that the last attempt took.
  package var seconds: Double?
  /// When the last attempt ended.
  package var finishedAt: Timestamp?
  /// When a transient failure is tried again.
  package var notBefore: Timestamp?

  /// Makes it from its parts.
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
