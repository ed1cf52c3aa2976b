package import PipelineModel

/// The effect of a fact of the manifest on the deletion of bytes.
package enum DeletionFact: Hashable, Sendable {
  /// An asset with these bytes was deleted.
  case deleted(DeletedOriginal)
  /// An asset was made from these bytes, or a duplicate of them was discarded.
  case relied(on: Digest)
}

/// An original whose last asset was deleted, and that may still be on disk.
package struct DeletedOriginal: Hashable, Sendable {
  package var digest: Digest
  package var asset: AssetID
  /// The manifest sequence number of the fact that deleted that asset.
  package var sequence: Int64

  package init(digest: Digest, asset: AssetID, sequence: Int64) {
    self.digest = digest
    self.asset = asset
    self.sequence = sequence
  }
}
