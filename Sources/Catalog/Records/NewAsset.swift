package import PipelineModel

/// An asset to record for an imported file.
package struct NewAsset: Hashable, Sendable {
  /// The key.
  package var id: AssetID
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The number of bytes.
  package var size: Int
  /// The file's raw name at import.
  package var name: BytePath
  /// The absolute path of the source.
  package var source: BytePath
  /// The path relative to the source.
  package var path: BytePath
  /// The file's modification time in nanoseconds since 1970.
  package var modified: Int64
  /// The file's permission bits.
  package var permissions: UInt32
  /// When its bytes became durable.
  package var importedAt: Timestamp
  /// The run that imported it.
  package var run: AssetID?
  /// The previous asset at the same path.
  package var supersedes: AssetID?

  /// Creates a new asset.
  package init(
    id: AssetID, digest: Digest, size: Int, name: BytePath, source: BytePath, path: BytePath,
    modified: Int64, permissions: UInt32, importedAt: Timestamp, run: AssetID? = nil,
    supersedes: AssetID? = nil
  ) {
    self.id = id
    self.digest = digest
    self.size = size
    self.name = name
    self.source = source
    self.path = path
    self.modified = modified
    self.permissions = permissions
    self.importedAt = importedAt
    self.run = run
    self.supersedes = supersedes
  }
}
