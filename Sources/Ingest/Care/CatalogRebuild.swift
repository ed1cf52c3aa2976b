import Catalog
import Files
import Glibc
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
  ///
  /// - Parameter progress: told how many facts of how many are read.
  package func run(
    progress: @escaping (Int64, Int64) -> Void = { _, _ in }
  ) throws(IngestError) -> Result {
    try library.prepareFolders()
    let lock = try CatalogFolder(of: library).claim()
    return try withExtendedLifetime(lock) { () throws(IngestError) in try rebuild(progress) }
  }

  private func rebuild(
    _ progress: @escaping (Int64, Int64) -> Void
  ) throws(IngestError) -> Result {
    try translating {
      let folder = try Descriptor.openFolder(library.layout.catalogFolder)
      let name = library.layout.catalog.lastComponent
      let fresh = BytePath("catalog-rebuilt.sqlite")
      let files = CatalogFiles(folder: folder, name: fresh)
      try files.makeEmpty()
      let manifest = try library.openManifest()
      let path = library.layout.catalogFolder.appending(fresh)
      let catalog = try Catalog.create(
        at: path, libraryID: library.marker.library, isDraft: true)
      let facts = manifest.lastSequence
      try Replay(catalog: catalog, manifest: manifest) { progress($0, facts) }.run()
      try RebuiltCatalog(catalog).note(at: .now)
      try catalog.finishDraft()
      try Descriptor.open(fresh, in: folder, flags: O_RDONLY | O_NOFOLLOW).sync()
      try files.requireWhole()
      // Nobody else knows of the new file, and a reader with locks would leave files beside it.
      let reader = try CatalogReader.open(at: path, immutable: true)
      let assets = try reader.status().assets
      try reader.close()
      // The old catalog is kept: its damage may still be of interest.
      let old = try CatalogFiles(folder: folder, name: name).setAside()
      try folder.rename(fresh, to: folder, as: name)
      try folder.sync()
      return Result(assets: assets, oldCatalog: old)
    }
  }
}
