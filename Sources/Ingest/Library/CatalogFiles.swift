import Files
import Glibc
import PipelineModel

/// A catalog's file, write-ahead log and shared memory, which belong together.
struct CatalogFiles {
  let folder: Descriptor
  let name: BytePath

  private static let suffixes = ["", "-wal", "-shm"]

  /// Removes those that exist.
  func remove() throws(FileError) {
    for suffix in Self.suffixes {
      do throws(FileError) {
        try folder.remove(Self.name(name, suffix))
      } catch let error where error.code == .notFound {
        continue
      }
    }
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
      do throws(FileError) {
        try folder.rename(Self.name(name, suffix), to: folder, as: Self.name(newName, suffix))
        renamed = folder.path.appending(newName)
      } catch let error where error.code == .notFound {
        continue
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
