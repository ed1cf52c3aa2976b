package import PipelineModel

/// Assets that changed since a revision.
package struct RevisionPage: Sendable {
  /// The keys in the order of their last changes.
  package var assets: [(id: AssetID, isDeleted: Bool)]
  /// Where the next page begins.
  package var revision: Revision
  /// Whether there is nothing more.
  package var isLast: Bool

  package init(
    assets: [(id: AssetID, isDeleted: Bool)], revision: Revision, isLast: Bool
  ) {
    self.assets = assets
    self.revision = revision
    self.isLast = isLast
  }
}
