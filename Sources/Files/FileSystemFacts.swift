import CLinux
import Glibc

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
