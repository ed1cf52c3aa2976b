package import PipelineModel

/// An original that no asset has any more since a fact of the manifest, and that may still be there.
package struct DeletedOriginal: Hashable, Sendable {
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The last asset that had them.
  package var asset: AssetID
  /// The place in the manifest of the fact that deleted that asset.
  package var sequence: Int64

  /// Makes it from its parts.
  package init(digest: Digest, asset: AssetID, sequence: Int64) {
    self.digest = digest
    self.asset = asset
    self.sequence = sequence
  }
}
