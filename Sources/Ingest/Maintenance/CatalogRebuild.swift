import Catalog
import Files
import Glibc
import Manifest
package import PipelineModel

/// Rebuilds the catalog of a locked library from its manifest.
package struct CatalogRebuild {
  /// The result of a rebuild.
  package struct Result: Sendable {
    /// The number of recorded assets.
    package let assets: Int
    /// Where the old catalog is kept, if there was one.
    package let oldCatalog: BytePath?
  }

  private let library: LibraryFolder

  package init(_ library: LibraryFolder) { self.library = library }

  /// Replays the whole manifest into a new catalog, then replaces the old one.
  ///
  /// - Parameter progress: called with the number of facts read, and their total.
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
      // Nobody else knows the new file, and a locking reader would leave files next to it.
      let reader = try CatalogReader.open(at: path, immutable: true)
      let assets = try reader.status().assets
      try reader.close()
      // Kept, because its damage may still be of interest.
      let old = try CatalogFiles(folder: folder, name: name).setAside()
      try folder.rename(fresh, to: folder, as: name)
      try folder.sync()
      return Result(assets: assets, oldCatalog: old)
    }
  }
}
