import Catalog
import Files
import Glibc
import Ingest
import Manifest
import PipelineModel

/// A library opened for reading: without a lock, and nothing is written.
struct ReadingSession {
  let setup: LibrarySetup
  let library: LibraryFolder
  let catalog: CatalogReader

  init(_ context: Context) throws {
    setup = try LibrarySetup(context)
    library = try LibraryFolder.open(setup.layout)
    try CatalogFolder(of: library).check()
    catalog = try Self.openCatalog(of: library)
  }

  /// Opens the catalog; a library without imports has none.
  private static func openCatalog(of library: LibraryFolder) throws -> CatalogReader {
    do throws(CatalogError) {
      return try CatalogReader.open(
        at: library.layout.catalog, immutable: mustBeImmutable(library))
    } catch {
      guard error.code == .missing,
        try Manifest(folder: library.layout.manifest).lastSequence == 0
      else { throw error }
      throw IngestError(
        .notALibrary,
        "“\(library.layout.root.printable)” is new and still empty: `pipeline run` ingests "
          + "what is in the sources.", path: library.layout.root)
    }
  }

  /// Whether SQLite can't make its shared memory file: the folder is not writable,
  /// so it is a snapshot or a backup that no process changes.
  private static func mustBeImmutable(_ library: LibraryFolder) -> Bool {
    let path = library.layout.catalogFolder.bytes.map { CChar(bitPattern: $0) } + [0]
    return access(path, W_OK) != 0
  }

  /// What `verify` found missing or damaged, and nothing changed since.
  func damage() throws -> [AssetID: [DamageList.Entry]] {
    try DamageList.read(in: library).present(in: library, catalog)
  }

  /// Finds the only asset that matches an ID.
  ///
  /// - Parameter text: a UUID, or any unique prefix or suffix of one.
  func asset(_ text: BytePath) throws -> AssetRecord {
    let matches = try catalog.assetIDs(matching: text.description, limit: 3)
    guard let id = matches.first else {
      throw UsageError(
        "No asset has an ID that begins or ends with “\(text.printable)”; `pipeline list` shows "
          + "them.", verb: nil)
    }
    guard matches.count == 1 else {
      let some = matches.map(\.description).joined(separator: ", ")
      throw UsageError(
        "“\(text.printable)” matches more than one asset (\(some)…); write more of the ID.",
        verb: nil)
    }
    guard let asset = try catalog.asset(id) else {
      throw UsageError("The asset \(id) was removed just now.", verb: nil)
    }
    return asset
  }
}
