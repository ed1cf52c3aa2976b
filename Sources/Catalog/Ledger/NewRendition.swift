package import PipelineModel

/// A rendition to be recorded.
package struct NewRendition: Hashable, Sendable {
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
  /// `image` when made from the picture itself, `preview` when from an embedded one.
  package var from: String?
  /// Where the bytes are.
  package var content: RenditionContent

  /// Makes it from its parts.
  package init(
    name: String, mediaType: String, width: Int, height: Int, bytes: Int, digest: Digest,
    from: String?, content: RenditionContent
  ) {
    self.name = name
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.from = from
    self.content = content
  }
}
