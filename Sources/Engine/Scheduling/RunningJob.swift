package import PipelineModel

/// A job that was begun, for who wants to say what is waited for.
package struct RunningJob: Sendable {
  /// The stage's name.
  package let stage: String
  /// The file's own name.
  package let name: BytePath
  /// When it began.
  package let since: ContinuousClock.Instant
  /// How long it may take.
  package let limit: TimeSpan
}
