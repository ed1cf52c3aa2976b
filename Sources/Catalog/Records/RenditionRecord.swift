package import PipelineModel

/// A rendition as it is recorded.
package struct RenditionRecord: Hashable, Sendable {
  package var id: Int64
  package var stage: String
  package var name: String
  package var mediaType: String
  package var width: Int
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
