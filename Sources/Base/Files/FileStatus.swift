import CLinux
import Glibc
package import PipelineModel

/// A file's metadata. Source: stat(2).
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case regular, folder, link, fifo, socket, device

    package var name: String {
      switch self {
      case .regular: "a file"
      case .folder: "a folder"
      case .link: "a symbolic link"
      case .fifo: "a named pipe"
      case .socket: "a socket"
      case .device: "a device"
      }
    }
  }

  package var kind: Kind
  /// Inode, size and times.
  package var identity: FileIdentity
  /// The device number of the file system.
  package var device: UInt64
  package var owner: UInt32
  package var group: UInt32
  package var links: UInt64
  /// The permission bits, `0o7777` at most.
  package var permissions: UInt32
  package var allocatedBytes: Int

  /// Whether both describe the same file, by device and inode.
  package func isSameNode(as other: FileStatus) -> Bool {
    device == other.device && identity.inode == other.identity.inode
  }

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFIFO: .fifo
      case S_IFSOCK: .socket
      default: .device
      }
    identity = FileIdentity(
      inode: UInt64(status.st_ino), size: Int(status.st_size),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
    device = UInt64(status.st_dev)
    owner = status.st_uid
    group = status.st_gid
    links = UInt64(status.st_nlink)
    permissions = UInt32(status.st_mode & 0o7777)
    allocatedBytes = Int(status.st_blocks) * 512
  }

  /// Times before 1678 and after 2262 don't fit and are clamped.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return time.tv_sec < 0 ? .min : .max }
    let (sum, carry) = product.addingReportingOverflow(Int64(time.tv_nsec))
    return carry ? .max : sum
  }
}
