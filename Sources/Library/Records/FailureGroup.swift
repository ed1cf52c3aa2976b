package import PipelineModel

/// Failed jobs of a stage with one reason.
package struct FailureGroup: Hashable, Sendable {
  package var stage: String
  package var failureClass: String
  package var reason: String
  package var count: Int
  /// Some of their assets.
  package var assets: [AssetID]

  package init(
    stage: String, failureClass: String, reason: String, count: Int, assets: [AssetID]
  ) {
    self.stage = stage
    self.failureClass = failureClass
    self.reason = reason
    self.count = count
    self.assets = assets
  }
}
