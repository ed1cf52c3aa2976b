import Catalog
import Files
import Glibc
import Manifest
import PipelineModel
import Records

/// A catalog that is made beside a locked library's own, and then takes its place in one step: the rename of a file,
/// or of a schema.
///
/// After a kill the next one begins anew.
struct CatalogDraft {
  private let library: LibraryFolder
  /// The name of its file until then.
  private let name: BytePath

  init(of library: LibraryFolder, named name: BytePath) {
    self.library = library
    self.name = name
  }

  /// Makes the catalog.
  ///
  /// - Parameter fill: puts into it what it is to have.
  /// - Returns: where the former catalog is kept, if there was one: its file, or the name of its schema.
  func make(_ fill: (Catalog) throws -> Void) throws -> BytePath? {
    let id = library.marker.library
    guard case .file(let file) = library.layout.catalogPlace else {
      let catalog = try Catalog.create(
        at: library.layout.catalogPlace, libraryID: id, isDraft: true)
      try complete(catalog, fill)
      return try catalog.finishDraft().map { BytePath($0) }
    }
    let folder = try Descriptor.openFolder(file.parent)
    let files = CatalogFiles(folder: folder, name: name)
    try files.makeEmpty()
    let path = file.parent.appending(name)
    let catalog = try Catalog.create(at: path, libraryID: id, isDraft: true)
    do {
      try complete(catalog, fill)
    } catch {
      // Clean-up: the next one removes what is left.
      try? files.remove()
      throw error
    }
    try catalog.finishDraft()
    try Descriptor.open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW).sync()
    try files.requireWhole()
    // Nobody else knows the new file, and a locking reader would leave files next to it.
    try CatalogReader.open(at: path, immutable: true).close()
    // Kept, because its damage may still be of interest.
    let former = try CatalogFiles(folder: folder, name: file.lastComponent).setAside()
    try folder.rename(name, to: folder, as: file.lastComponent)
    try folder.sync()
    return former
  }

  private func complete(_ catalog: Catalog, _ fill: (Catalog) throws -> Void) throws {
    do {
      try fill(catalog)
      try keepManifestTail(in: catalog)
    } catch {
      // Clean-up: the first error is the one to report.
      try? catalog.discardDraft()
      throw error
    }
  }

  /// Keeps the end of the manifest in a database, as the former catalog may have: not all of it need be copied.
  private func keepManifestTail(in catalog: Catalog) throws {
    guard catalog.isOnServer, let bucket = library.bucket else { return }
    let manifest = try library.openManifest()
    if let lag = try manifest.lag(behind: catalog.manifestPosition) {
      throw IngestError(
        .catalog, "\(lag), so nothing was done: `pipeline run` says what to do.",
        path: library.layout.catalog)
    }
    let noted = try catalog.setting(CopiedManifest.setting)
      .flatMap { CopiedManifest($0, in: bucket.name) }
    let start = ManifestTailStart(
      copied: noted?.sequence ?? 0, kept: nil, newest: manifest.lastSequence)
    try catalog.follow(manifest, after: start.after)
  }
}
