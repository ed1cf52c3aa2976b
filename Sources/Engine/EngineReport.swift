package import PipelineModel

/// The outcome of one job.
package struct JobEvent: Hashable, Codable, Sendable {
  package enum Outcome: String, Hashable, Codable, Sendable { case done, skipped, failed }

  package var asset: AssetID
  package var name: BytePath
  package var stage: String
  package var outcome: Outcome
  /// The failure class, if the job failed.
  package var failureClass: String?
  package var reason: String?
  /// The job's duration in seconds.
  package var seconds: Double

  package init(
    asset: AssetID, name: BytePath, stage: String, outcome: Outcome, failureClass: String? = nil,
    reason: String? = nil, seconds: Double
  ) {
    self.asset = asset
    self.name = name
    self.stage = stage
    self.outcome = outcome
    self.failureClass = failureClass
    self.reason = reason
    self.seconds = seconds
  }
}

/// Receives the engine's events, on the engine's own queue.
package protocol EngineReport: AnyObject, Sendable {
  /// A job ended, and its outcome is on disk.
  func job(_ event: JobEvent)
  /// A stage is held for the rest of this run: its plugin is unusable, or the machine lacks
  /// something.
  func held(stage: String, plugin: String, reason: String)
  /// A message for the user that is not a job's outcome.
  func warning(_ message: String)
  /// The engine can't continue; see `Engine.failure`.
  func failed()
  /// A line of a plugin's log.
  func log(stage: String, message: String)
}

extension EngineReport {
  package func failed() {}
}
