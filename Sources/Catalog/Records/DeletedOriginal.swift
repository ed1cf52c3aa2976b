package import PipelineModel

/// An original whose last asset was deleted, and that may still be on disk.
package struct DeletedOriginal: Hashable, Sendable {
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The last asset that had them.
  package var asset: AssetID
  /// The manifest sequence number of the fact that deleted that asset.
  package var sequence: Int64

  /// Creates a deleted original.
  package init(digest: Digest, asset: AssetID, sequence: Int64) {
    self.digest = digest
    self.asset = asset
    self.sequence = sequence
  }
}
