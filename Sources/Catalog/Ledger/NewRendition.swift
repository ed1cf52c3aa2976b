package import PipelineModel

/// A rendition to be recorded.
package struct NewRendition: Hashable, Sendable {
  package var name: String
  package var mediaType: String
  package var width: Int
  package var height: Int
  package var bytes: Int
  package var digest: Digest
  package var from: String?
  package var content: RenditionContent

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
