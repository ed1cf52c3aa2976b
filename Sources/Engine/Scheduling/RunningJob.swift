package import PipelineModel

/// A running job, for progress reports.
package struct RunningJob: Sendable {
  /// The stage's name.
  package let stage: String
  /// The original's file name.
  package let name: BytePath
  /// When it started.
  package let since: ContinuousClock.Instant
  /// Its time limit.
  package let limit: TimeSpan
}
