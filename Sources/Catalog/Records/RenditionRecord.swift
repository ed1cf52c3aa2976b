package import PipelineModel

/// A rendition as it is recorded.
package struct RenditionRecord: Hashable, Sendable {
  /// The key.
  package var id: Int64
  /// The stage by its name.
  package var stage: String
  /// The name.
  package var name: String
  /// The type, such as `image/jpeg`.
  package var mediaType: String
  /// The width in pixels.
  package var width: Int
  /// The height in pixels.
  package var height: Int
  /// The number of bytes.
  package var bytes: Int
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// `image` or `preview`.
  package var from: String?
  /// The path below the library, or `nil` if the bytes are in the database.
  package var path: String?
  /// Whether a newer one is due: this one was made with other options.
  package var isStale: Bool

  /// Makes it from its parts.
  package init(
    id: Int64, stage: String, name: String, mediaType: String, width: Int, height: Int,
    bytes: Int, digest: Digest, from: String? = nil, path: String? = nil, isStale: Bool
  ) {
    self.id = id
    self.stage = stage
    self.name = name
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.from = from
    self.path = path
    self.isStale = isStale
  }
}
