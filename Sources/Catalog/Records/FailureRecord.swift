package import PipelineModel

/// A failure as `failed` gives it.
package struct FailureRecord: Hashable, Sendable {
  /// The asset that it is about.
  package var asset: AssetID
  /// The name.
  package var name: BytePath
  /// The stage by its name.
  package var stage: String
  /// `permanent`, `transient` or `environment`; `nil` unless it failed.
  package var failureClass: String
  /// Why, as a sentence.
  package var reason: String
  /// How many attempts there were.
  package var attempts: Int

  /// Makes it from its parts.
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
