package import PipelineModel

/// A job that was begun, for who wants to cancel it or to say what is waited for.
package struct RunningJob: Sendable {
  /// Cancels it.
  let control: JobControl
  /// The stage's name.
  package let stage: String
  /// The file's own name.
  package let name: BytePath
  /// When it began.
  package let since: ContinuousClock.Instant
  /// How long it may take.
  package let limit: TimeSpan

  /// Makes it from its parts.
  package init(
    control: JobControl, stage: String, name: BytePath, since: ContinuousClock.Instant,
    limit: TimeSpan
  ) {
    self.control = control
    self.stage = stage
    self.name = name
    self.since = since
    self.limit = limit
  }
}
