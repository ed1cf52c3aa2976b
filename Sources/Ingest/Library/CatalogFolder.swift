import Catalog
import Files
import Glibc
import PipelineModel

/// The folder of a library's catalog, where that is not in the library: it says whose it
/// is, since two libraries that share one would take each other's records for their own.
package struct CatalogFolder {
  /// What `catalog.json` in such a folder says.
  private struct Owner: Codable {
    var library: String
  }

  private static let marker: BytePath = "catalog.json"
  private static let lock: BytePath = "catalog.lock"

  private let library: LibraryFolder
  private var path: BytePath { library.layout.catalogFolder }

  /// - Parameter library: the library whose catalog it is to be.
  package init(of library: LibraryFolder) { self.library = library }

  /// Refuses a folder that is another library's; nothing is written.
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
      throw refusal("has the catalog of another library in it (\(owner))")
    }
  }

  /// Makes the folder this library's, and keeps all others out of it.
  ///
  /// - Returns: the lock; `nil` where the catalog is in the library, which is locked.
  func claim() throws(IngestError) -> FileLock? {
    guard try !isLibrary else { return nil }
    return try translating {
      try requireOwn()
      let lock = try lockFolder()
      // Another library may have come first.
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
      "Another pipeline works with the catalog folder “\(path.printable)”, though not on this "
        + "library. Each library needs a catalog folder of its own.", path: path)
  }

  private func recordOwner() throws {
    let folder = try Descriptor.openFolder(path)
    guard try recordedOwner(in: folder) == nil else { return }
    let text = try JSONText.encodePretty(Owner(library: library.marker.library))
    try folder.writeDurably(Array((text + "\n").utf8), as: Self.marker)
  }

  /// Whose the folder is; `nil` if it is nobody's yet.
  private func owner(in folder: Descriptor) throws -> String? {
    if let owner = try recordedOwner(in: folder) { return owner }
    // A catalog from before there were markers says it itself.
    let file = library.layout.catalog
    guard try folder.statusIfThere(of: file.lastComponent) != nil else {
      guard try CatalogFiles(folder: folder, name: file.lastComponent).hasLog else { return nil }
      throw refusal("has the log of a catalog in it that is not there itself")
    }
    return try ownLibrary(of: file)
  }

  /// The library that a catalog names; `nil` where it is damaged, and `rebuild-catalog` keeps it.
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
      throw refusal("has a \(Self.marker) in it that can't be read (\(error))")
    }
  }

  private func refusal(_ what: String) -> IngestError {
    IngestError(
      .notALibrary,
      "The catalog folder “\(path.printable)” \(what); nothing was changed. Set \"catalog\" to a "
        + "folder that is this library's alone; if it was meant to be this one, and what is in it "
        + "is needed no more, empty it.", path: path)
  }
}
