package import PipelineModel

/// A failed job, for `failed`.
package struct FailureRecord: Hashable, Sendable {
  /// The asset.
  package var asset: AssetID
  /// The name.
  package var name: BytePath
  /// The name of the stage.
  package var stage: String
  /// `permanent`, `transient` or `environment`.
  package var failureClass: String
  /// The reason, as a sentence.
  package var reason: String
  /// The number of attempts, including interrupted ones.
  package var attempts: Int

  /// Creates a record.
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
