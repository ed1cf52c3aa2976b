package import Catalog
import Files
import Hashing
import PipelineModel

/// Reads the bytes of renditions, wherever they are kept.
package struct RenditionReader {
  /// What reading a rendition shows.
  enum Condition: Hashable {
    case whole, missing, damaged
    /// Its file can't be read, or something else has its place.
    case unreadable(FileError)
  }

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

  /// Returns the content once it is known to be what was recorded, or `nil` where it is missing or
  /// something else.
  package func content(of rendition: RenditionRecord) throws(IngestError) -> WholeRendition? {
    try translating {
      guard let path = rendition.path else {
        let bytes = try catalog.renditionBytes(rendition.id)
        return bytes.flatMap { isWhole($0, rendition) ? .bytes($0) : nil }
      }
      guard let file = try open(path), try file.hash().digest == rendition.digest else {
        return nil
      }
      return .file(file)
    }
  }

  private func isWhole(_ bytes: [UInt8], _ rendition: RenditionRecord) -> Bool {
    SHA256.digest(of: bytes) == rendition.digest
  }

  /// Reads a rendition, a file from its disk as far as that can be asked for, and compares its
  /// bytes with what was recorded.
  ///
  /// - Throws: `FileError` of code `stopped` if `isStopped` is true, or a `CatalogError`.
  func condition(
    of rendition: RenditionRecord, isStopped: @escaping () -> Bool = { false }
  ) throws -> Condition {
    guard let path = rendition.path else {
      guard let bytes = try catalog.renditionBytes(rendition.id) else { return .missing }
      return isWhole(bytes, rendition) ? .whole : .damaged
    }
    do throws(FileError) {
      guard let file = try open(path) else { return .missing }
      let digest = try file.hashFromDisk(isStopped: isStopped).digest
      return digest == rendition.digest ? .whole : .damaged
    } catch {
      if error.code == .stopped { throw error }
      return .unreadable(error)
    }
  }

  private func open(_ path: String) throws(FileError) -> Descriptor? {
    let relative = BytePath(path)
    do throws(FileError) {
      return try Descriptor.openRegular(
        relative.lastComponent, in: folder.openParent(of: relative))
    } catch let error where error.code == .notFound {
      return nil
    }
  }
}
