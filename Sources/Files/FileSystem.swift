import CLinux
import Glibc
package import PipelineModel

/// File system queries about paths rather than open files.
package enum FileSystem {
  /// Returns the absolute path without links, `.` and `..`; an empty path is the working folder.
  /// Source: realpath(3).
  package static func realPath(of path: BytePath) throws(FileError) -> BytePath {
    let wanted = path.isEmpty ? "." : path
    guard let resolved = wanted.withCString({ realpath($0, nil) }) else {
      throw FileError("find", path, errno: errno)
    }
    defer { free(resolved) }
    return BytePath(cString: resolved)
  }

  /// Returns the absolute path that the kernel would resolve a user's path to.
  ///
  /// `..` after a symbolic link leads to the parent of the link's target, so everything before it
  /// is resolved; so is a link followed by a slash. All other names stay as typed. If nothing
  /// exists to resolve, `..` removes the name before it. Source: path_resolution(7).
  ///
  /// - Parameter folder: an absolute path, the base of a relative one.
  package static func absolutePath(of path: BytePath, in folder: BytePath) -> BytePath {
    var result: BytePath = "/"
    for part in folder.appending(path).components where part != "." {
      guard part == ".." else {
        result = result.appending(part)
        continue
      }
      // Opening the path reports this error.
      result = (try? realPath(of: result))?.parent ?? result.parent
    }
    let isFolder = path.bytes.last == UInt8(ascii: "/") || path.lastComponent == "."
    return isFolder ? (try? realPath(of: result)) ?? result : result
  }

  /// Returns the status of a path, without following a link at its end. Source: lstat(2).
  package static func status(of path: BytePath) throws(FileError) -> FileStatus {
    try Descriptor.openFolder(path.parent).status(of: path.lastComponent)
  }

  /// Returns the device number of the file system a path leads to. Source: stat(2).
  ///
  /// Unlike opening, this needs only search permission on the parent folders.
  static func device(of path: BytePath) throws(FileError) -> UInt64 {
    var result = stat()
    try systemCall("examine", path) { path.withCString { stat($0, &result) } }
    return UInt64(result.st_dev)
  }

  /// Returns the working folder.
  package static func workingFolder() throws(FileError) -> BytePath { try realPath(of: ".") }
}
