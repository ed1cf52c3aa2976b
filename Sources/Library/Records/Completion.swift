package import PipelineModel

/// How an attempt ended.
package struct Completion: Sendable {
  package enum Outcome: Sendable {
    case done(facts: JSONValue, renditions: [NewRendition])
    /// `class` is `environment` if the machine lacks something, `permanent` if the stage's own
    /// `accepts` leaves the file out, and `transient` if there is no rendition to work on.
    case skipped(reason: String, class: String? = nil)
    /// `class` is `permanent`, `transient` or `environment`. With `retryAt` the
    /// row becomes ready again at that time; without it, the row is failed.
    /// `environment` does not count as an attempt.
    case failed(class: String, reason: String, retryAt: Timestamp?)
  }

  package var token: AttemptToken
  package var outcome: Outcome
  /// The duration in seconds; exactly 0 if the plugin was not called.
  package var seconds: Double
  /// Whether it failed by a limit of this process.
  package var isByLimit: Bool

  package init(
    token: AttemptToken, outcome: Outcome, seconds: Double, isByLimit: Bool = false
  ) {
    self.token = token
    self.isByLimit = isByLimit
    self.outcome = outcome
    self.seconds = seconds
  }
}
