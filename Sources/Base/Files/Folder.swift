import CLinux
import Glibc
package import PipelineModel

/// Operations on the names in a folder, relative to its descriptor.
///
/// Names never pass through a symbolic link, because they contain no slash and the last component
/// is never followed.
extension Descriptor {
  /// Returns the status of a name, without following a link. Source: fstatat(2).
  package func status(of name: BytePath) throws(FileError) -> FileStatus {
    var result = stat()
    try systemCall("examine", path.appending(name)) {
      name.withCString { fstatat(number, $0, &result, AT_SYMLINK_NOFOLLOW) }
    }
    return FileStatus(result)
  }

  /// Returns the status of a path below this folder, without following any link.
  package func status(below path: BytePath) throws(FileError) -> FileStatus {
    try openParent(of: path).status(of: path.lastComponent)
  }

  /// Returns the status of what a kernel link leads to, as in `/proc`.
  func statusOfTarget(of name: BytePath) throws(FileError) -> FileStatus {
    var result = stat()
    try systemCall("examine", path.appending(name)) {
      name.withCString { fstatat(number, $0, &result, 0) }
    }
    return FileStatus(result)
  }

  /// Returns the status of a name, without following a link; `nil` if there is none.
  package func statusIfThere(of name: BytePath) throws(FileError) -> FileStatus? {
    try ifThere { () throws(FileError) in try status(of: name) }
  }

  /// Reads a whole file; `nil` if there is none.
  package func readFileIfThere(_ name: BytePath, limit: Int) throws(FileError) -> [UInt8]? {
    try ifThere { () throws(FileError) in try readFile(name, limit: limit) }
  }

  /// Renames a file unless the new name is taken. Source: renameat2(2).
  ///
  /// - Throws: `FileError` of code `exists` if it is taken.
  package func rename(
    _ name: BytePath, to other: Descriptor, as newName: BytePath
  ) throws(FileError) {
    try systemCall("rename", path.appending(name)) {
      name.withCString { old in
        newName.withCString {
          pipeline_rename_without_replacing(number, old, other.number, $0)
        }
      }
    }
  }

  /// Renames a file, replacing any file of the new name. Source: renameat(2).
  package func replace(
    _ name: BytePath, to other: Descriptor, as newName: BytePath
  ) throws(FileError) {
    try systemCall("rename", path.appending(name)) {
      name.withCString { old in
        newName.withCString { Glibc.renameat(number, old, other.number, $0) }
      }
    }
  }

  /// Removes a file's name. Source: unlinkat(2).
  package func remove(_ name: BytePath) throws(FileError) {
    try systemCall("remove", path.appending(name)) {
      name.withCString { unlinkat(number, $0, 0) }
    }
  }

  /// Removes a file somewhere below this folder; succeeds if it is missing.
  package func removeIfThere(_ path: BytePath) throws(FileError) {
    try ifThere { () throws(FileError) in
      try openParent(of: path).remove(path.lastComponent)
    }
  }

  /// Removes an empty folder. Source: unlinkat(2).
  package func removeFolder(_ name: BytePath) throws(FileError) {
    try systemCall("remove", path.appending(name)) {
      name.withCString { unlinkat(number, $0, AT_REMOVEDIR) }
    }
  }

  /// Sets the permission bits of a folder in this one; ignores anything else, such as a link.
  /// Source: fchmodat(2).
  package func setPermissions(of name: BytePath, _ mode: UInt32) throws(FileError) {
    guard try status(of: name).kind == .folder else { return }
    try systemCall("set the permissions of", path.appending(name)) {
      name.withCString { fchmodat(number, $0, mode, 0) }
    }
  }

  /// Creates a folder. Source: mkdirat(2).
  ///
  /// - Returns: whether it was created; `false` if the name exists.
  @discardableResult
  package func makeFolder(_ name: BytePath, mode: UInt32 = 0o700) throws(FileError) -> Bool {
    do {
      try systemCall("make the folder", path.appending(name)) {
        name.withCString { mkdirat(number, $0, mode) }
      }
      return true
    } catch let error where error.code == .exists {
      return false
    }
  }

  /// Opens the parent folder of a relative path, one component after the other, none of which may
  /// be a link or `..`.
  package func openParent(of relative: BytePath) throws(FileError) -> Descriptor {
    var folder = self
    for part in relative.components.dropLast() {
      if part.bytes == Array("..".utf8) {
        throw FileError(
          .link, "“\(relative.printable)” leaves its folder.", path: path.appending(relative))
      }
      folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
    }
    return folder
  }

  /// Writes a file atomically and durably.
  ///
  /// Temporary file in the same folder, size check, fsync, rename, fsync of the folder.
  package func writeDurably(
    _ bytes: [UInt8], as name: BytePath, mode: UInt32 = 0o600
  ) throws(FileError) {
    let temporary = BytePath(bytes: Array(".".utf8) + name.bytes + Array(".new".utf8))
    do throws(FileError) {
      let file = try Descriptor.open(
        temporary, in: self, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: mode)
      try file.write(bytes)
      guard try file.status().identity.size == bytes.count else {
        throw FileError(.changed, "“\(file.path.printable)” has the wrong size.", path: file.path)
      }
      try file.sync()
      try replace(temporary, to: self, as: name)
    } catch {
      // Clean-up: the first error is the one to report.
      try? remove(temporary)
      throw error
    }
    try sync()
  }

  /// Reads a whole file.
  ///
  /// - Parameter limit: the maximum size in bytes; a larger file is an error.
  package func readFile(_ name: BytePath, limit: Int = 64 << 20) throws(FileError) -> [UInt8] {
    let file = try Descriptor.open(name, in: self, flags: O_RDONLY | O_NOFOLLOW)
    return try file.readToEnd(limit: limit)
  }

  /// Reads from the current position to the end.
  package func readToEnd(limit: Int = 64 << 20) throws(FileError) -> [UInt8] {
    var bytes: [UInt8] = []
    try forEachChunk { chunk throws(FileError) in
      guard bytes.count + chunk.count <= limit else {
        throw FileError(.other, "“\(path.printable)” is larger than \(limit) bytes.", path: path)
      }
      bytes.append(contentsOf: chunk)
    }
    return bytes
  }

  /// Reads from the current position to the end, in chunks of at most 1 MiB.
  ///
  /// - Parameter size: the expected size, so that a small file needs little memory.
  package func forEachChunk(
    expecting size: Int = .max, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(max(size, 1 << 12), 1 << 20), alignment: 4096)
    defer { buffer.deallocate() }
    while true {
      let count = try read(into: buffer)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Reads a part in chunks of at most 1 MiB, wherever the position is.
  ///
  /// - Throws: `FileError` of code `changed` if the file ends before.
  package func forEachChunk(
    from offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
  ) throws(FileError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(max(count, 1), 1 << 20), alignment: 4096)
    defer { buffer.deallocate() }
    var done = 0
    while done < count {
      let piece = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<min(buffer.count, count - done)])
      let got = try read(into: piece, at: offset + done)
      guard got > 0 else {
        throw FileError(.changed, "“\(path.printable)” is shorter than it was.", path: path)
      }
      try body(UnsafeRawBufferPointer(rebasing: piece[..<got]))
      done += got
    }
  }
}
