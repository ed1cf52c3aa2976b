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
}
