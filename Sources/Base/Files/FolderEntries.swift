import CLinux
import Glibc
package import PipelineModel

/// A name in a folder, with its kind if the file system reports it.
package struct FolderEntry: Hashable, Sendable {
  package var name: BytePath
  /// `nil` if only `status(of:)` knows it.
  package var kind: FileStatus.Kind?

  package init(name: BytePath, kind: FileStatus.Kind?) {
    self.name = name
    self.kind = kind
  }
}

extension Descriptor {
  /// Returns all names in the folder except `.` and `..`, in no order. Source: readdir(3).
  package func entries() throws(FileError) -> [FolderEntry] {
    // A stream owns its descriptor and position, so it gets its own.
    let own = try systemCall("open", path) {
      pipeline_openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    }
    guard let stream = fdopendir(own) else {
      let code = errno
      Glibc.close(own)
      throw FileError("read the folder", path, errno: code)
    }
    defer { closedir(stream) }
    var entries: [FolderEntry] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        let code = errno
        if code != 0 { throw FileError("read the folder", path, errno: code) }
        return entries
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: UInt8.self, capacity: 256) {
          BytePath(bytes: UnsafeBufferPointer(start: $0, count: Self.length(of: $0)))
        }
      }
      if name.bytes.count <= 2, name.bytes.allSatisfy({ $0 == UInt8(ascii: ".") }) { continue }
      entries.append(FolderEntry(name: name, kind: Self.kind(of: entry.pointee.d_type)))
    }
  }

  private static func length(of start: UnsafePointer<UInt8>) -> Int {
    var length = 0
    while length < 256, start[length] != 0 { length += 1 }
    return length
  }

  private static func kind(of type: UInt8) -> FileStatus.Kind? {
    switch Int(type) {
    case Int(DT_REG): .regular
    case Int(DT_DIR): .folder
    case Int(DT_LNK): .link
    case Int(DT_FIFO): .fifo
    case Int(DT_SOCK): .socket
    case Int(DT_CHR), Int(DT_BLK): .device
    default: nil
    }
  }

  /// Removes a file, or a folder with everything in it, however deep.
  ///
  /// Moves nested folders up first, so that neither stack depth nor open files depend on what a
  /// stranger made. Never follows links.
  package func removeTree(_ entry: FolderEntry) throws(FileError) {
    guard try kind(of: entry) == .folder else { return try remove(entry.name) }
    var folders = [entry.name]
    var number = 0
    while let name = folders.popLast() {
      // A stranger may have left a folder that even its owner can't read.
      try setPermissions(of: name, 0o700)
      let folder = try Descriptor.openFolder(name, in: self, followsLinks: false)
      for child in try folder.entries() {
        guard try folder.kind(of: child) == .folder else {
          try folder.remove(child.name)
          continue
        }
        // To be moved, a folder must itself be writable: its “..” changes.
        try folder.setPermissions(of: child.name, 0o700)
        folders.append(try moveUp(child.name, from: folder, &number))
      }
      try removeFolder(name)
    }
  }

  /// The prefix of names of folders moved up for removal; a number follows.
  package static let removedPrefix = ".removed-"

  /// Moves a folder into this one, under a free name.
  private func moveUp(
    _ name: BytePath, from folder: Descriptor, _ number: inout Int
  ) throws(FileError) -> BytePath {
    while true {
      let place = BytePath("\(Self.removedPrefix)\(number)")
      number += 1
      do throws(FileError) {
        try folder.rename(name, to: self, as: place)
        return place
      } catch {
        if error.code != .exists { throw error }
      }
    }
  }

  private func kind(of entry: FolderEntry) throws(FileError) -> FileStatus.Kind {
    if let kind = entry.kind { return kind }
    return try status(of: entry.name).kind
  }

  /// Gives a file of this folder a second name in another one. Source: linkat(2).
  package func link(
    _ name: BytePath, to other: Descriptor, as newName: BytePath
  ) throws(FileError) {
    try systemCall("link", path.appending(name)) {
      name.withCString { old in
        newName.withCString { linkat(number, old, other.number, $0, 0) }
      }
    }
  }

  /// Creates a hard link to a file in this folder. Source: linkat(2).
  package func link(_ file: BytePath, as name: BytePath) throws(FileError) {
    try systemCall("link", file) {
      file.withCString { old in
        name.withCString { linkat(AT_FDCWD, old, number, $0, 0) }
      }
    }
  }
}
