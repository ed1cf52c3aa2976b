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
