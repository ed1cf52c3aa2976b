package import PipelineModel

/// An asset's original file: its path and attributes.
package struct AssetOrigin: Hashable, Sendable {
  /// The key.
  package var id: AssetID
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The number of bytes.
  package var size: Int
  /// The absolute path of the source.
  package var source: BytePath
  /// The path relative to the source.
  package var path: BytePath
  /// The file's modification time in nanoseconds since 1970.
  package var modified: Int64
  /// The file's permission bits.
  package var permissions: UInt32
  /// Whether it is in the trash.
  package var isTrashed: Bool
}
