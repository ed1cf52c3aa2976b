import Catalog
import Files
import Glibc
import PipelineModel
import Records

/// The folder of a library's catalog outside the library. It records its owner, since two libraries
/// sharing one would take each other's records for their own.
package struct CatalogFolder {
  /// The content of `catalog.json` in such a folder.
  private struct Owner: Codable {
    var library: String
  }

  private static let marker: BytePath = "catalog.json"
  private static let lock: BytePath = "catalog.lock"

  private let library: LibraryFolder
  private var path: BytePath { library.layout.catalogFolder }

  /// - Parameter library: the library that owns the catalog.
  package init(of library: LibraryFolder) { self.library = library }

  /// Refuses another library's folder; writes nothing.
  ///
  /// - Throws: `IngestError` of code `notALibrary`.
  package func check() throws {
    guard try !isLibrary else { return }
    try requireOwn()
  }

  /// Whether it is the library's own folder, by whatever path.
  private var isLibrary: Bool {
    get throws {
      try Descriptor.openFolder(path).status().isSameNode(as: library.folder.status())
    }
  }

  private func requireOwn() throws {
    let root = try FileSystem.realPath(of: library.layout.root)
    if let other = try LibraryFolder.enclosing(path), other != root {
      throw refusal("is inside the library “\(other.printable)”")
    }
    let folder = try Descriptor.openFolder(path)
    if let owner = try owner(in: folder), owner != library.marker.library {
      throw refusal("contains the catalog of another library (\(owner))")
    }
  }

  /// Claims the folder for this library and locks out all others.
  ///
  /// - Returns: the lock; `nil` if the catalog is in the library, which is already locked.
  func claim() throws -> FileLock? {
    guard try !isLibrary else { return nil }
    try requireOwn()
    let lock = try lockFolder()
    // Another library may have been faster.
    try requireOwn()
    try recordOwner()
    return lock
  }

  private func lockFolder() throws -> FileLock {
    let folder = try Descriptor.openFolder(path)
    try LibraryFolder.requireOwn(folder, "The catalog folder")
    for _ in 0..<50 {
      if let lock = try FileLock.attempt(Self.lock, in: folder) { return lock }
      usleep(20_000)
    }
    throw IngestError(
      .locked,
      "Another pipeline process uses the catalog folder “\(path.printable)”, for another library. "
        + "Each library needs its own catalog folder.", path: path)
  }

  private func recordOwner() throws {
    let folder = try Descriptor.openFolder(path)
    guard try recordedOwner(in: folder) == nil else { return }
    let text = try JSONText.encodePretty(Owner(library: library.marker.library))
    try folder.writeDurably(Array((text + "\n").utf8), as: Self.marker)
  }

  /// The owner of the folder; `nil` if there is none yet.
  private func owner(in folder: Descriptor) throws -> String? {
    if let owner = try recordedOwner(in: folder) { return owner }
    // A catalog older than the marker names its library itself.
    let file = library.layout.catalog
    guard try folder.statusIfThere(of: file.lastComponent) != nil else {
      guard try CatalogFiles(folder: folder, name: file.lastComponent).hasLog else { return nil }
      throw refusal("contains the log of a missing catalog")
    }
    return try ownLibrary(of: file)
  }

  /// The library that a catalog names; `nil` if it is damaged, as `rebuild-catalog` keeps it.
  private func ownLibrary(of file: BytePath) throws(CatalogError) -> String? {
    do throws(CatalogError) {
      return try Catalog.libraryID(of: .file(file))
    } catch let error where error.code == .corrupt {
      return nil
    }
  }

  private func recordedOwner(in folder: Descriptor) throws -> String? {
    guard let bytes = try folder.readFileIfThere(Self.marker, limit: 1 << 16) else { return nil }
    do {
      return try JSONText.decode(Owner.self, from: bytes).library
    } catch {
      throw refusal("contains a \(Self.marker) that can't be read (\(error))")
    }
  }

  private func refusal(_ what: String) -> IngestError {
    IngestError(
      .notALibrary,
      "The catalog folder “\(path.printable)” \(what); nothing was changed. Set \"catalog\" to a "
        + "folder for this library alone; if this folder is meant, and its contents are no longer "
        + "needed, empty it.", path: path)
  }
}

extension LibraryFolder {
  /// Refuses to go without the catalog where the configuration has none in its database, and the library has one.
  ///
  /// - Throws: `IngestError` of code `catalog`.
  func requireMoved() throws {
    let file = layout.catalog
    guard let database = layout.database,
      try Descriptor.openFolder(file.parent).statusIfThere(of: file.lastComponent) != nil
    else { return }
    throw IngestError(
      .catalog,
      "The database “\(database)” has no catalog yet, and “\(file.printable)” is one: `pipeline move-catalog` takes "
        + "it there, and no job runs again. If it was moved into the library, remove \"catalog\" from pipeline.json.",
      path: file)
  }
}

/// A catalog's file, write-ahead log and shared memory, which belong together.
struct CatalogFiles {
  let folder: Descriptor
  let name: BytePath

  private static let suffixes = ["", "-wal", "-shm"]

  /// The sizes of those that exist.
  func sizes() throws(FileError) -> [Int] {
    var sizes: [Int] = []
    for suffix in Self.suffixes {
      if let status = try folder.statusIfThere(of: Self.name(name, suffix)) {
        sizes.append(status.identity.size)
      }
    }
    return sizes
  }

  /// Removes those that exist: what a kill leaves is found by its name.
  func remove() throws(FileError) {
    for suffix in Self.suffixes.reversed() { try folder.removeIfThere(Self.name(name, suffix)) }
  }

  /// Removes those that exist, and creates an empty file that only its owner may read: SQLite gives
  /// its log the mode of the catalog, and would leave both to the umask.
  func makeEmpty() throws(FileError) {
    try remove()
    _ = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
  }

  /// Whether there is a non-empty write-ahead log.
  var hasLog: Bool {
    get throws(FileError) {
      try folder.statusIfThere(of: Self.name(name, "-wal"))?.identity.size ?? 0 > 0
    }
  }

  /// Renames them so that nobody takes them for a catalog.
  ///
  /// - Returns: the new path of the catalog file, or `nil` if there was nothing.
  func setAside() throws(FileError) -> BytePath? {
    let newName = BytePath("catalog-\(Timestamp.now.microseconds).old")
    var renamed: BytePath?
    // The log first: a catalog without its log would be another catalog.
    for suffix in Self.suffixes.reversed() {
      try ifThere { () throws(FileError) in
        try folder.rename(Self.name(name, suffix), to: folder, as: Self.name(newName, suffix))
        renamed = folder.path.appending(newName)
      }
    }
    return renamed
  }

  /// Checks that a new catalog, now closed, is complete without its log.
  ///
  /// - Throws: `FileError` if the log still exists: closing could not empty it into the catalog.
  func requireWhole() throws(FileError) {
    guard try !hasLog else {
      throw FileError(
        .ioError,
        "“\(folder.path.appending(name).printable)” is incomplete; its disk may be full.",
        path: folder.path.appending(name))
    }
  }

  private static func name(_ name: BytePath, _ suffix: String) -> BytePath {
    BytePath(bytes: name.bytes + Array(suffix.utf8))
  }
}
