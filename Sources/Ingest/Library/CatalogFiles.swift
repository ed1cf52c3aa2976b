import Files
import Glibc
import PipelineModel

/// A catalog's file, its write-ahead log and its shared memory, which belong together.
struct CatalogFiles {
  let folder: Descriptor
  /// The name of the catalog's file.
  let name: BytePath

  private static let suffixes = ["", "-wal", "-shm"]

  /// Removes what there is of them.
  func remove() throws(FileError) {
    for suffix in Self.suffixes {
      do throws(FileError) {
        try folder.remove(Self.name(name, suffix))
      } catch let error where error.code == .notFound {
        continue
      }
    }
  }

  /// Removes what there is of them, and makes an empty file that only its owner may
  /// read: SQLite gives its log the mode of the catalog, and would leave both to the umask.
  func makeEmpty() throws(FileError) {
    try remove()
    _ = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
  }

  /// Whether there is a write-ahead log with something in it.
  var hasLog: Bool {
    get throws(FileError) {
      try folder.statusIfThere(of: Self.name(name, "-wal"))?.identity.size ?? 0 > 0
    }
  }

  /// Gives them another name, under which nobody takes them for a catalog.
  ///
  /// - Returns: the new path of the catalog's file, or `nil` if there was nothing.
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

  /// Makes sure that a new catalog, now closed, is whole without its log.
  ///
  /// - Throws: `FileError` if the log is still there: closing could not empty it
  ///   into the catalog.
  func requireWhole() throws(FileError) {
    guard try !hasLog else {
      throw FileError(
        .ioError,
        "“\(folder.path.appending(name).printable)” could not be written whole; its disk may be full.",
        path: folder.path.appending(name))
    }
  }

  private static func name(_ name: BytePath, _ suffix: String) -> BytePath {
    BytePath(bytes: name.bytes + Array(suffix.utf8))
  }
}
