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
    return BytePath(cString: resolved)
  }

  /// Returns the absolute path that the kernel would find by a path that somebody typed.
  ///
  /// `..` behind a symbolic link leads to the folder above the one that the link leads to,
  /// so what is before it is resolved; so is a link with a slash behind it. All other names stay
  /// as they were typed. Where nothing is there to be resolved, `..` takes away the name before it.
  /// Source: path_resolution(7).
  ///
  /// - Parameter folder: an absolute path, where a relative one begins.
  package static func absolutePath(of path: BytePath, in folder: BytePath) -> BytePath {
    var result: BytePath = "/"
    for part in folder.appending(path).components where part != "." {
      guard part == ".." else {
        result = result.appending(part)
        continue
      }
      // An error here is one of opening the path, and is told when that is done.
      result = (try? realPath(of: result))?.parent ?? result.parent
    }
    let isFolder = path.bytes.last == UInt8(ascii: "/") || path.lastComponent == "."
    return isFolder ? (try? realPath(of: result)) ?? result : result
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
