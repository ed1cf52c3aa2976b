package import PipelineModel

/// A rendition to record.
package struct NewRendition: Hashable, Sendable {
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
  /// `image` for one made from the picture itself, `preview` from an embedded preview, `damaged`
  /// from a picture with damaged data.
  package var from: String?
  /// Where the bytes are.
  package var content: RenditionContent

  /// Creates a new rendition.
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
