package import PipelineModel

/// A rendition that is to move.
package struct MisplacedRendition: Hashable, Sendable {
  package var id: Int64
  package var name: String
  package var mediaType: String
  package var digest: Digest
  /// The original's digest or the asset's key as hex, and the fingerprint, as the file name uses them.
  package var owner: String
  package var fingerprint: Fingerprint
  package var content: RenditionContent

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
