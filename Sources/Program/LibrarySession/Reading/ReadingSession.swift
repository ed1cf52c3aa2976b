package import Catalog
package import Files
import Glibc
import Hashing
package import Ingest
import Manifest
import Originals
package import PipelineModel

/// A library opened for reading: without a lock, and nothing is written.
package struct ReadingSession {
  package let setup: LibrarySetup
  package let library: LibraryFolder
  package let catalog: CatalogReader

  package init(_ search: ConfigurationSearch) throws {
    setup = try LibrarySetup(search)
    library = try LibraryFolder.open(setup.layout)
    try CatalogFolder(of: library).check()
    catalog = try Self.openCatalog(of: library)
  }

  /// Opens the library; returns `nil` if it does not exist or is still empty.
  package static func ifPresent(_ search: ConfigurationSearch) throws -> ReadingSession? {
    do {
      return try ReadingSession(search)
    } catch let error as IngestError where error.code == .notALibrary {
      return nil
    }
  }

  /// Opens the catalog; a library without imports has none.
  private static func openCatalog(of library: LibraryFolder) throws -> CatalogReader {
    do throws(CatalogError) {
      return try CatalogReader.open(at: library.layout.catalog, immutable: mustBeImmutable(library))
    } catch {
      guard error.code == .missing,
        try Manifest(folder: library.layout.manifest).lastSequence == 0
      else { throw error }
      throw IngestError(
        .notALibrary,
        "“\(library.layout.root.printable)” is new and still empty: `pipeline run` imports "
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
  package func damage() throws -> [AssetID: [DamageList.Entry]] {
    try DamageList.read(in: library).present(in: library, catalog)
  }

  /// Calls `body` with an original's bytes in chunks.
  ///
  /// - Throws: `FileError` of code `changed`, after the last chunk, if the original is damaged.
  package func readOriginal(
    of asset: AssetRecord, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    let file = try library.openOriginal(asset.digest)
    let hash = SHA256()
    try file.forEachChunk { chunk throws(FileError) in
      hash.update(chunk)
      try body(chunk)
    }
    guard hash.finalize() == asset.digest else {
      throw .damagedOriginal(file.path)
    }
  }

  /// Finds the only asset that matches an ID.
  ///
  /// - Parameter text: a UUID, or any unique prefix or suffix of one.
  /// - Throws: `SessionError` of code `noAsset`.
  package func asset(_ text: BytePath) throws -> AssetRecord {
    let matches = try catalog.assetIDs(matching: text.description, limit: 3)
    guard let id = matches.first else {
      throw SessionError(
        .noAsset,
        "No asset has an ID that begins or ends with “\(text.printable)”; `pipeline list` shows "
          + "them.")
    }
    guard matches.count == 1 else {
      let some = matches.map(\.description).joined(separator: ", ")
      throw SessionError(
        .noAsset,
        "“\(text.printable)” matches more than one asset (\(some)…); write more of the ID.")
    }
    guard let asset = try catalog.asset(id) else {
      throw SessionError(.noAsset, "The asset \(id) was removed just now.")
    }
    return asset
  }
}
