package import Catalog
import Files
package import PipelineModel
import Records

/// Moves the catalog of a locked library from a file to a database, or back, or to another one of either.
///
/// 1. all rows, and the bytes of renditions, copied into a catalog made beside, and compared
/// 2. that one put into its place, in one step
/// 3. the former one set aside under another name
///
/// After a kill before the second step the same move begins anew; after it, it finds both catalogs alike, and takes the
/// third.
package struct CatalogMove {
  package struct Result: Sendable {
    package var copied = CatalogCopy.Result()
    /// Where the former catalog is kept: its file, or the name of its schema.
    package var former: BytePath?
    /// Whether the catalog was in the new place already, and in no other.
    package var wasThere = false
  }

  private let old: LibraryFolder
  private let new: LibraryFolder
  private let reserve: @Sendable (Int) -> Int
  private let isStopped: @Sendable () -> Bool

  /// - Parameters:
  ///   - old: the library with its catalog where it is.
  ///   - new: the same library with its catalog where it is to be.
  ///   - reserve: returns the space to leave free on a disk of some size, both in bytes.
  package init(
    from old: LibraryFolder, to new: LibraryFolder, reserve: @escaping @Sendable (Int) -> Int,
    isStopped: @escaping @Sendable () -> Bool
  ) {
    self.old = old
    self.new = new
    self.reserve = reserve
    self.isStopped = isStopped
  }

  /// What a move would do; takes no lock, and changes nothing.
  package func preview() throws -> Result {
    try requireTwoPlaces()
    if try isDone() { return Result(wasThere: true) }
    let reader = try CatalogReader.open(at: old.layout.catalogPlace, immutable: false)
    defer { try? reader.close() }
    try reader.requireOwner(old.marker.library)
    if new.layout.database != nil {
      try requireShort(
        reader.overlongPaths(path: PathLimit.longestPath, source: PathLimit.longestSource))
    }
    try requireRoom(for: reader.bytesOnServer())
    return Result(copied: try reader.movableContent())
  }

  /// - Parameter progress: called often.
  /// - Throws: `CatalogError`, `IngestError`; the catalog is where it was then.
  package func run(progress: @escaping (CatalogCopy.Step) -> Void) throws -> Result {
    try requireTwoPlaces()
    let locks = try [old, new].map { try CatalogFolder(of: $0).claim() }
    return try withExtendedLifetime(locks) {
      if try isDone() { return Result(wasThere: true) }
      let source = try CatalogSource(old.layout.catalogPlace, libraryID: old.marker.library)
      defer { source.close() }
      try requireAlone(source)
      try source.requireRenameable()
      var result = Result()
      if try has(new) {
        try requireAlike(source)
      } else {
        result.copied = try copy(source, progress)
      }
      result.former = try setAside(source)
      return result
    }
  }

  private func copy(
    _ source: CatalogSource, _ progress: @escaping (CatalogCopy.Step) -> Void
  ) throws -> CatalogCopy.Result {
    if new.layout.database != nil {
      try requireShort(
        source.overlongPaths(path: PathLimit.longestPath, source: PathLimit.longestSource))
    }
    try requireRoom(for: source.bytesOnServer())
    var copied = CatalogCopy.Result()
    _ = try CatalogDraft(of: new, named: "catalog-moved.sqlite").make { draft in
      copied = try CatalogCopy(from: source, to: draft, isStopped: isStopped, progress: progress)
        .run()
      try source.requireHeld()
    }
    return copied
  }

  /// Renames the former catalog, so that nobody takes it for the one in use.
  private func setAside(_ source: CatalogSource) throws -> BytePath? {
    if let name = try source.setAside() { return BytePath(name) }
    let folder = try Descriptor.openFolder(old.layout.catalogFolder)
    let former = try CatalogFiles(folder: folder, name: old.layout.catalog.lastComponent).setAside()
    try folder.sync()
    return former
  }

  // MARK: Where it is

  /// Refuses two names of one folder, whose catalog would be compared with itself and set aside. A database under two
  /// names refuses the second lock.
  private func requireTwoPlaces() throws {
    guard old.layout.database == nil, new.layout.database == nil else { return }
    let folders = try [old, new].map { try Descriptor.openFolder($0.layout.catalogFolder).status() }
    guard folders[0].isSameNode(as: folders[1]) else { return }
    throw IngestError(
      .catalog,
      "“\(old.layout.catalogFolder.printable)” and “\(new.layout.catalogFolder.printable)” are one folder, so nothing "
        + "was moved.", path: new.layout.catalogFolder)
  }

  /// Whether the catalog is in the new place, and not in the old one.
  private func isDone() throws -> Bool { try !has(old) && has(new) }

  /// Whether a place has the library's catalog.
  ///
  /// - Throws: if it has something else.
  private func has(_ library: LibraryFolder) throws -> Bool {
    let place = library.layout.catalogPlace
    do throws(CatalogError) {
      guard let owner = try Catalog.libraryID(of: place), owner == library.marker.library else {
        throw CatalogError(
          .corrupt,
          "“\(place.name.printable)” has the catalog of another library, so nothing was moved. Use another database "
            + "or folder.", path: place.name)
      }
      return true
    } catch {
      guard error.code == .missing else { throw error }
      return false
    }
  }

  /// Refuses to choose between two catalogs that a move was interrupted with, and of which one was changed since.
  private func requireAlike(_ source: CatalogSource) throws {
    let copy = try CatalogSource(new.layout.catalogPlace, libraryID: new.marker.library)
    defer { copy.close() }
    let differences = try source.differences(from: copy)
    guard !differences.isEmpty else { return }
    throw IngestError(
      .catalog,
      "“\(source.place.name.printable)” and “\(copy.place.name.printable)” both have a catalog of this library, and "
        + "differ in \(differences.joined(separator: ", ")), so nothing was moved. Rename the one that is out of "
        + "date: the file, or the schema by `ALTER SCHEMA pipeline RENAME TO pipeline_former`.",
      path: source.place.name)
  }

  /// Refuses while other processes do the library's jobs: what they do would be lost.
  private func requireAlone(_ source: CatalogSource) throws {
    guard let other = try source.participantBeside() else { return }
    throw IngestError(
      .locked,
      "`pipeline \(other.verb)` on \(other.node) (process \(other.process)) uses the catalog of “\(old.layout.root.printable)”. "
        + "End it first, as with `pipeline nodes drain`, or wait for half a minute if it is no more; the catalog is where it "
        + "was.",
      path: old.layout.root)
  }

  /// Refuses a disk that may not have room for the copy, before anything is written. A copy in SQLite takes about as much
  /// as the catalog does now.
  ///
  /// - Parameter bytes: what that takes on its server; `nil` for a file.
  private func requireRoom(for bytes: Int?) throws {
    guard new.layout.database == nil else { return }
    try MoveRoom(folder: new.layout.catalogFolder, reserve: reserve).require(
      bytes ?? bytesOfFiles(), for: "The catalog takes")
  }

  private func bytesOfFiles() throws -> Int {
    let folder = try Descriptor.openFolder(old.layout.catalogFolder)
    return try [old.layout.catalog, old.layout.renditionDatabase]
      .flatMap { try CatalogFiles(folder: folder, name: $0.lastComponent).sizes() }.reduce(0, +)
  }

  private func requireShort(_ overlong: (first: BytePath, count: Int)?) throws {
    guard let (first, count) = overlong else { return }
    let beginning = BytePath(bytes: Array(first.bytes.prefix(80))).printable
    throw IngestError(
      .catalog,
      "\(count) recorded paths are longer than a catalog in PostgreSQL can have them, \(PathLimit.longestPath) bytes, or "
        + "\(PathLimit.longestSource) of a source: nothing was moved. The first is “\(beginning)…”.",
      path: old.layout.root)
  }
}
