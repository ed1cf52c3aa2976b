import CLinux
import Glibc
package import PipelineModel

/// Questions to the file system that concern paths rather than open files.
package enum FileSystem {
  /// Returns the absolute path without links, `.` and `..`; an empty one is the
  /// working folder. Source: realpath(3).
  package static func realPath(of path: BytePath) throws(FileError) -> BytePath {
    let wanted = path.isEmpty ? "." : path
    guard let resolved = wanted.withCString({ realpath($0, nil) }) else {
      throw FileError("find", path, errno: errno)
    }
    defer { free(resolved) }
    return BytePath(
      bytes: UnsafeBufferPointer(start: resolved, count: strlen(resolved)).map {
        UInt8(bitPattern: $0)
      })
  }

  /// Returns what a path stands for, without following a link at its end. Source: lstat(2).
  package static func status(of path: BytePath) throws(FileError) -> FileStatus {
    try Descriptor.openFolder(path.parent).status(of: path.lastComponent)
  }

  /// Returns the number of the file system that a path leads to. Source: stat(2).
  ///
  /// Unlike opening it needs no more than the right to pass through the folders above.
  static func device(of path: BytePath) throws(FileError) -> UInt64 {
    var result = stat()
    try systemCall("examine", path) { path.withCString { stat($0, &result) } }
    return UInt64(result.st_dev)
  }

  /// Returns the working folder.
  package static func workingFolder() throws(FileError) -> BytePath { try realPath(of: ".") }
}
