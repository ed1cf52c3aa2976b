package import Catalog
import Files
import Hashing
import PipelineModel

/// Reads the bytes of renditions, wherever they are kept.
package struct RenditionReader {
  private let folder: Descriptor
  private let catalog: CatalogReader

  package init(library: LibraryFolder, catalog: CatalogReader) {
    self.init(folder: library.folder, catalog: catalog)
  }

  /// - Parameter folder: the library's.
  init(folder: Descriptor, catalog: CatalogReader) {
    self.folder = folder
    self.catalog = catalog
  }

  /// Returns the bytes, or `nil` if they are missing.
  package func bytes(of rendition: RenditionRecord) throws(IngestError) -> [UInt8]? {
    try translating {
      guard let path = rendition.path else { return try catalog.renditionBytes(rendition.id) }
      return try readFile(BytePath(path))
    }
  }

  /// Whether bytes are those that were recorded.
  package func isWhole(_ bytes: [UInt8], _ rendition: RenditionRecord) -> Bool {
    SHA256.digest(of: bytes) == rendition.digest
  }

  private func readFile(_ relative: BytePath) throws(FileError) -> [UInt8]? {
    do throws(FileError) {
      return try folder.openParent(of: relative)
        .readFile(relative.lastComponent, limit: 1 << 30)
    } catch let error where error.code == .notFound {
      return nil
    }
  }
}
