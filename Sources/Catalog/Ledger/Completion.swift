package import PipelineModel

/// How an attempt ended.
package struct Completion: Sendable {
  package enum Outcome: Sendable {
    case done(facts: JSONValue, renditions: [NewRendition])
    case skipped(reason: String)
    /// `class` is `permanent`, `transient` or `environment`. With `retryAt` the
    /// row becomes ready again for then; without it, it is failed. One of class
    /// `environment` does not count as an attempt.
    case failed(class: String, reason: String, retryAt: Timestamp?)
  }

  /// The attempt.
  package var token: AttemptToken
  /// How it ended.
  package var outcome: Outcome
  /// Seconds that the work took; exactly 0 where the plugin was not asked.
  package var seconds: Double

  /// Makes it from its parts.
  package init(token: AttemptToken, outcome: Outcome, seconds: Double) {
    self.token = token
    self.outcome = outcome
    self.seconds = seconds
  }
}
