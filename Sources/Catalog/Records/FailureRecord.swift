package import PipelineModel

/// A failure as `failed` gives it.
package struct FailureRecord: Hashable, Sendable {
  package var asset: AssetID
  package var name: BytePath
  package var stage: String
  package var failureClass: String
  package var reason: String
  package var attempts: Int

  package init(
    asset: AssetID, name: BytePath, stage: String, failureClass: String, reason: String,
    attempts: Int
  ) {
    self.asset = asset
    self.name = name
    self.stage = stage
    self.failureClass = failureClass
    self.reason = reason
    self.attempts = attempts
  }
}
