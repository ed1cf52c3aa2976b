package import PipelineModel

/// A recorded rendition.
package struct RenditionRecord: Hashable, Sendable {
  /// The key.
  package var id: Int64
  /// The name of the stage.
  package var stage: String
  /// The name.
  package var name: String
  /// The media type, such as `image/jpeg`.
  package var mediaType: String
  /// The width in pixels.
  package var width: Int
  /// The height in pixels.
  package var height: Int
  /// The number of bytes.
  package var bytes: Int
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// `image`, `preview` or `damaged`.
  package var from: String?
  /// The path below the library, or `nil` if the bytes are in the database.
  package var path: String?
  /// Whether it was made with other options, and a newer one is due.
  package var isStale: Bool

  /// Creates a record.
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
