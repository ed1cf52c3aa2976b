package import PipelineModel

/// A rendition that is to move.
package struct MisplacedRendition: Hashable, Sendable {
  /// The key.
  package var id: Int64
  /// The name.
  package var name: String
  /// The type, such as `image/jpeg`.
  package var mediaType: String
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The original's digest or the asset's key as hex, and the fingerprint, as the file name uses them.
  package var owner: String
  /// What the result depends on besides the bytes.
  package var fingerprint: Fingerprint
  /// Where the bytes are.
  package var content: RenditionContent

  /// Makes it from its parts.
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
