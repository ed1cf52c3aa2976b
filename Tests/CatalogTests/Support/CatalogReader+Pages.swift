import Catalog
import PipelineModel
import Records

/// Everything that the catalog gives page by page.
extension CatalogReader {
  func originals(_ body: (Digest, Int) throws -> Void) throws {
    var last: Digest?
    while true {
      let page = try originals(after: last, limit: 512)
      for (digest, size) in page { try body(digest, size) }
      guard let end = page.last?.digest else { return }
      last = end
    }
  }

  func allRenditions(_ body: (RenditionRecord) throws -> Void) throws {
    var last: Int64 = 0
    while true {
      let page = try renditions(after: last, limit: 512)
      for rendition in page { try body(rendition) }
      guard let end = page.last?.id else { return }
      last = end
    }
  }
}
