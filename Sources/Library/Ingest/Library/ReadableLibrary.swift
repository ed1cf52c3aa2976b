package import Catalog
package import Files
import Glibc
import Hashing
import Manifest
import Originals
package import PipelineModel
package import Query
package import Records

/// A library opened for reading: without a lock, and nothing is written.
package struct ReadableLibrary: Sendable {
  package let library: LibraryFolder
  package let catalog: CatalogReader
  /// Whether the catalog is read without locks, because its folder can't be written: it must not
  /// change then.
  package let isImmutable: Bool
  /// The catalog's file as it was when it was opened.
  private let identity: FileIdentity?
  /// The number of the catalog in its database.
  private let number: Int64?
  private let keptDamage: KeptDamageList?

  /// - Parameters:
  ///   - isImmutable: whether to read the catalog without locks; by default if its folder can't be
  ///     written. A process in a sandbox can't tell: it has to be told.
  ///   - keptDamage: keeps the list of damage, for a process that asks often; by default each question
  ///     reads it.
  ///   - opened: the catalog, for a process that can't connect to its database any more.
  /// - Throws: `IngestError` of code `notALibrary` if there is none or it is still empty, or a
  ///   `CatalogError`.
  package init(
    _ layout: LibraryLayout, isImmutable: Bool? = nil, keptDamage: KeptDamageList? = nil,
    opened: CatalogReader? = nil
  ) throws {
    self.keptDamage = keptDamage
    library = try Workplace.readable(layout) ?? LibraryFolder.open(layout)
    try CatalogFolder(of: library).check()
    self.isImmutable =
      layout.database == nil && (isImmutable ?? Self.mustBeImmutable(library))
    identity = Self.identity(of: library)
    catalog = try opened ?? Self.openCatalog(of: library, immutable: self.isImmutable)
    // A file in the library's folder is its own; a database may be anybody's.
    if layout.database != nil { try catalog.requireOwner(library.marker.library) }
    number = try catalog.catalogNumber
  }

  /// Opens the catalog; a library without imports has none.
  private static func openCatalog(
    of library: LibraryFolder, immutable: Bool
  ) throws -> CatalogReader {
    let place = library.layout.catalogPlace
    do throws(CatalogError) {
      return try CatalogReader.open(at: place, immutable: immutable)
    } catch {
      guard error.code == .missing else { throw error }
      try library.requireMoved()
      guard try Manifest(folder: library.layout.manifest).lastSequence == 0 else {
        // `rebuild-catalog` takes the old one away a moment before the new one has its name.
        usleep(100_000)
        return try CatalogReader.open(at: place, immutable: immutable)
      }
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

  /// Whether the catalog is another file by now, as after `rebuild-catalog`; or was changed, if it was
  /// opened without locks.
  package var isOutdated: Bool {
    guard library.layout.database == nil else {
      // Without an answer, it is the next question that says why.
      guard let now = try? catalog.catalogNumber else { return false }
      return now != number
    }
    let now = Self.identity(of: library)
    return isImmutable ? now != identity : now?.inode != identity?.inode
  }

  private static func identity(of library: LibraryFolder) -> FileIdentity? {
    // Not by opening the file: closing it would drop the lock that SQLite holds on it for this process,
    // and the next writer to end would take its log away. Source: sqlite.org/howtocorrupt.html, 2.2.
    // A file that can't be examined is another one than before, and the error that of opening it.
    try? Descriptor.openFolder(library.layout.catalogFolder)
      .statusIfThere(of: library.layout.catalog.lastComponent)?.identity
  }

  /// What `verify` found missing or damaged, and nothing changed since.
  package func damage() throws -> [AssetID: [DamageList.Entry]] {
    let list = damageList
    return try catalog.snapshot { try list.present(in: library, catalog) }
  }

  /// The same of one asset.
  package func damage(of asset: AssetRecord) throws -> [DamageList.Entry] {
    try damageList.present(of: asset, in: library, catalog)
  }

  private var damageList: DamageList {
    keptDamage?.read(in: library) ?? DamageList.read(in: library)
  }

  /// The assets that `verify` found damaged, if a filter asks for them: that looks at their files.
  package func damagedAssets(for filter: Filter) throws -> Set<AssetID> {
    filter.asksForDamage ? Set(try damage().keys) : []
  }

  /// Calls `body` with an original's bytes in chunks.
  ///
  /// - Throws: `FileError` of code `changed`, after the last chunk, if the original is damaged.
  package func readOriginal(
    _ digest: Digest, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    let file = try library.openOriginal(digest)
    let hash = SHA256()
    try file.forEachChunk { chunk throws(FileError) in
      hash.update(chunk)
      try body(chunk)
    }
    guard hash.finalize() == digest else {
      throw .damagedOriginal(file.path)
    }
  }
}
