import Catalog
import Files
import Manifest
package import PipelineModel

/// Makes the catalog of a locked library again from its manifest.
package struct CatalogRebuild {
  /// What came of it.
  package struct Result: Sendable {
    /// How many assets are recorded.
    package let assets: Int
    /// Where the old catalog is kept, if there was one.
    package let oldCatalog: BytePath?
  }

  private let library: LibraryFolder

  package init(_ library: LibraryFolder) { self.library = library }

  /// Replays the whole manifest into a new catalog, then puts it in the old one's place.
  package func run() throws(IngestError) -> Result {
    try translating {
      let folder = try Descriptor.openFolder(library.layout.catalogFolder)
      let name = library.layout.catalog.lastComponent
      let fresh = BytePath("catalog-rebuilt.sqlite")
      try removeFiles(fresh, in: folder)
      let manifest = try Manifest(folder: library.layout.manifest)
      let path = library.layout.catalogFolder.appending(fresh)
      let catalog = try Catalog.create(at: path, libraryID: library.marker.library)
      try Replay(catalog: catalog, manifest: manifest).run()
      try catalog.close()
      // Nobody else knows of the new file, and a reader with locks would leave files beside it.
      let reader = try CatalogReader.open(at: path, immutable: true)
      let assets = try reader.status().assets
      try reader.close()
      let old = try setAside(name, in: folder)
      try folder.rename(fresh, to: folder, as: name)
      try folder.sync()
      return Result(assets: assets, oldCatalog: old)
    }
  }

  /// A catalog's file, its write-ahead log and its shared memory belong together.
  private static let suffixes = ["", "-wal", "-shm"]

  private func removeFiles(_ name: BytePath, in folder: Descriptor) throws(FileError) {
    for suffix in Self.suffixes {
      do throws(FileError) {
        try folder.remove(BytePath(bytes: name.bytes + Array(suffix.utf8)))
      } catch let error where error.code == .notFound {
        continue
      }
    }
  }

  /// Gives the old catalog another name; its damage may still be of interest.
  private func setAside(_ name: BytePath, in folder: Descriptor) throws(FileError) -> BytePath? {
    let stamp = Timestamp.now.microseconds
    var kept: BytePath?
    // The log first: a catalog without its log would be another catalog.
    for suffix in Self.suffixes.reversed() {
      let from = BytePath(bytes: name.bytes + Array(suffix.utf8))
      let to = BytePath("catalog-\(stamp).old\(suffix)")
      do throws(FileError) {
        try folder.rename(from, to: folder, as: to)
        kept = folder.path.appending(to)
      } catch let error where error.code == .notFound {
        continue
      }
    }
    return kept
  }
}
