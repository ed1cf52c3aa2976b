import Catalog
import Files
import PipelineModel

/// A database of renditions that is left in the catalog's folder, although the catalog is in PostgreSQL and has the
/// bytes itself. It belongs to a catalog that is a file beside it, as long as there is one: that may be used again.
struct FormerRenditionDatabase {
  private let files: CatalogFiles
  /// Of each of its files.
  let sizes: [Int]

  /// Returns `nil` if there is none; another program's file of this name is none.
  init?(_ layout: LibraryLayout) throws(FileError) {
    guard layout.database != nil else { return nil }
    let folder = try Descriptor.openFolder(layout.catalogFolder)
    guard try folder.statusIfThere(of: layout.catalog.lastComponent) == nil else { return nil }
    let name = layout.renditionDatabase.lastComponent
    guard try folder.statusIfThere(of: name)?.kind == .regular else { return nil }
    let file = try Descriptor.openRegular(name, in: folder)
    var header = [UInt8](repeating: 0, count: RenditionSchema.headerSize)
    _ = try header.withUnsafeMutableBytes { buffer in
      Result { () throws(FileError) in try file.read(into: buffer, at: 0) }
    }.get()
    guard RenditionSchema.isHeader(header) else { return nil }
    files = CatalogFiles(folder: folder, name: name)
    sizes = try files.sizes()
  }

  func remove() throws(FileError) { try files.remove() }
}

extension Garbage {
  /// Counts its files.
  mutating func add(_ former: FormerRenditionDatabase) {
    files += former.sizes.count
    fileBytes += former.sizes.reduce(0, +)
  }
}
