import Glibc
import PipelineModel
import Records

/// The file that a path leads to, told without opening it.
///
/// To open and close a file that SQLite has open would drop its locks: sqlite.org/howtocorrupt.html, 2.2.
struct FileNode: Equatable {
  private let device: UInt
  private let inode: UInt

  /// Returns `nil` if there is nothing.
  ///
  /// - Throws: `.foreign` for a symbolic link, which could lead out of the library, and for anything else
  ///   that is no file. Source: lstat(2).
  static func at(_ path: BytePath) throws(CatalogError) -> FileNode? {
    var status = stat()
    let result = path.withCString { lstat($0, &status) }
    let code = errno
    guard result == 0 else {
      if code == ENOENT || code == ENOTDIR { return nil }
      throw CatalogError(
        .readOnly,
        "“\(path)” can't be examined: \(String(cString: strerror(code))). Check who may read its folder.",
        path: path)
    }
    guard status.st_mode & S_IFMT != S_IFLNK else {
      throw CatalogError(
        .foreign,
        "“\(path)” is a symbolic link, so it is neither read nor written. Put the file itself in its "
          + "place, or remove the link.",
        path: path)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw CatalogError(
        .foreign, "“\(path)” is not a file, so it is neither read nor written. Move it away.",
        path: path)
    }
    return FileNode(device: UInt(status.st_dev), inode: UInt(status.st_ino))
  }
}
