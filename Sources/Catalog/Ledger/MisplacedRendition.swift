package import PipelineModel

/// A rendition to be moved.
package struct MisplacedRendition: Hashable, Sendable {
  /// The key.
  package var id: Int64
  /// The name.
  package var name: String
  /// The media type, such as `image/jpeg`.
  package var mediaType: String
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The original's digest or the asset's key in hexadecimal, as in the file name.
  package var owner: String
  /// What the result depends on besides the bytes.
  package var fingerprint: Fingerprint
  /// Where the bytes are.
  package var content: RenditionContent

  /// Creates a misplaced rendition.
  package init(
    id: Int64, name: String, mediaType: String, digest: Digest, owner: String,
    fingerprint: Fingerprint, content: RenditionContent
  ) {
    self.id = id
    self.name = name
    self.mediaType = mediaType
    self.digest = digest
    self.owner = owner
    self.fingerprint = fingerprint
    self.content = content
  }
}
