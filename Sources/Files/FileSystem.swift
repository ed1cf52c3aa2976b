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

  /// Returns the working folder.
  package static func workingFolder() throws(FileError) -> BytePath { try realPath(of: ".") }
}
