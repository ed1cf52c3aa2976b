package import PipelineModel

/// What became of one job.
package struct JobEvent: Hashable, Codable, Sendable {
  package enum Outcome: String, Hashable, Codable, Sendable { case done, skipped, failed }

  package var asset: AssetID
  package var name: BytePath
  package var stage: String
  package var outcome: Outcome
  /// The class of a failure.
  package var failureClass: String?
  package var reason: String?
  /// Seconds that the work took.
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

/// What the engine tells while it works; called on the engine's own queue.
package protocol EngineReport: AnyObject, Sendable {
  /// A job ended, and that is on disk.
  func job(_ event: JobEvent)
  /// A stage does not run for the rest of this run: its plugin can't be used, or the machine
  /// lacks something.
  func held(stage: String, plugin: String, reason: String)
  /// Something that the user should know and that is no job's outcome.
  func warning(_ message: String)
  /// The engine can't go on; its `failure` says why.
  func failed()
  /// A line of a plugin's log.
  func log(stage: String, message: String)
}

extension EngineReport {
  package func failed() {}
}
