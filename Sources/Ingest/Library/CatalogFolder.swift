import Catalog
import Files
import Glibc
import PipelineModel

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
  package func check() throws(IngestError) {
    guard try !isLibrary else { return }
    try translating { try requireOwn() }
  }

  /// Whether it is the library's own folder, by whatever path.
  private var isLibrary: Bool {
    get throws(IngestError) {
      try translating {
        try Descriptor.openFolder(path).status().isSameNode(as: library.folder.status())
      }
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
  func claim() throws(IngestError) -> FileLock? {
    guard try !isLibrary else { return nil }
    return try translating {
      try requireOwn()
      let lock = try lockFolder()
      // Another library may have been faster.
      try requireOwn()
      try recordOwner()
      return lock
    }
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
      return try Catalog.libraryID(of: file)
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
