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

  /// Returns the path without links in its folders; the same path if they can't be resolved.
  package static func resolvingFolders(of path: BytePath) -> BytePath {
    guard let parent = try? realPath(of: path.parent) else { return path }
    return parent.appending(path.lastComponent)
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

  package static func workingFolder() throws(FileError) -> BytePath { try realPath(of: ".") }
}

/// A file system's type and space. Source: statfs(2).
package struct FileSystemFacts: Hashable, Sendable {
  /// Bytes available to an ordinary user; `Int.max` if it reports no limit.
  package var freeBytes: Int
  /// Bytes in total; `Int.max` if it reports no limit.
  package var totalBytes: Int
  /// Its name, if it has no change events or no reliable locks.
  package var networkName: String?

  /// statfs(2) magic numbers of file systems behind a network or a process.
  private static let networks: [Int: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB", 0xFF53_4D42: "SMB", 0x6573_5546: "FUSE",
    0x0102_1997: "9P", 0x00C3_6400: "Ceph",
  ]
}

extension Descriptor {
  /// Returns the type and space of the file's file system.
  package func fileSystem() throws(FileError) -> FileSystemFacts {
    var result = CLinux.statfs()
    try systemCall("examine the file system of", path) { pipeline_statfs(number, &result) }
    return FileSystemFacts(
      blocks: UInt64(result.f_blocks), freeBlocks: UInt64(result.f_bavail),
      blockSize: UInt64(result.f_frsize),
      networkName: FileSystemFacts.networkName(of: Int(result.f_type)))
  }
}

extension FileSystemFacts {
  /// Converts blocks into bytes: a file system without limits reports 0 blocks (tmpfs), or more
  /// than fit into an Int (FUSE).
  init(blocks: UInt64, freeBlocks: UInt64, blockSize: UInt64, networkName: String?) {
    let isBounded = blocks > 0
    self.init(
      freeBytes: isBounded ? Self.product(freeBlocks, blockSize) : .max,
      totalBytes: isBounded ? Self.product(blocks, blockSize) : .max, networkName: networkName)
  }

  private static func product(_ blocks: UInt64, _ unit: UInt64) -> Int {
    let (bytes, overflow) = blocks.multipliedReportingOverflow(by: unit)
    return overflow ? .max : Int(clamping: bytes)
  }

  static func networkName(of type: Int) -> String? { networks[type & 0xFFFF_FFFF] }
}
