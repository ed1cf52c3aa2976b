import Glibc
import PipelineModel

/// Deleted files that processes keep open or mapped, which no folder shows. Source: proc(5),
/// `/proc/PID/fd` and `/proc/PID/maps`.
package struct UnlinkedFiles: Sendable {
  private let device: UInt64
  private var sizes: [UInt64: Int] = [:]

  /// Finds those of some processes.
  ///
  /// - Parameter device: the file system that counts.
  package init(of processes: [Int32], on device: UInt64) {
    self.device = device
    for process in processes {
      // The process's own entry is empty if its first thread has ended.
      let entry = BytePath("/proc/\(process)")
      if !addOpen(entry) { addOpenOfThread(entry.appending("task")) }
      addMapped(entry.appending("maps"))
    }
  }

  package var bytes: Int { sizes.values.reduce(0) { $0 + $1 } }

  private mutating func addOpenOfThread(_ threads: BytePath) {
    guard let folder = try? Descriptor.openFolder(threads), let entries = try? folder.entries()
    else { return }
    for entry in entries {
      let thread = threads.appending(entry.name)
      if addOpen(thread) { return addMapped(thread.appending("maps")) }
    }
  }

  /// - Returns: whether there are any files.
  private mutating func addOpen(_ process: BytePath) -> Bool {
    guard let folder = try? Descriptor.openFolder(process.appending("fd")),
      let entries = try? folder.entries(), !entries.isEmpty
    else { return false }
    for entry in entries {
      // A file closed meanwhile is no longer held.
      guard let status = try? folder.statusOfTarget(of: entry.name), status.kind == .regular,
        status.links == 0, status.device == device
      else { continue }
      sizes[status.identity.inode] = max(status.allocatedBytes, status.identity.size)
    }
    return true
  }

  private mutating func addMapped(_ maps: BytePath) {
    guard let file = try? Descriptor.open(maps, flags: O_RDONLY),
      let bytes = try? file.readToEnd(limit: 16 << 20),
      // Most processes have none, and splitting a thousand lines takes longer than reading them.
      bytes.contains(UInt8(ascii: ")"))
    else { return }
    let end = Array("(deleted)".utf8)
    var mapped: [UInt64: Int] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) where line.suffix(9) == end[...] {
      let words = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 5)
      let ends = words[0].split(separator: "-").compactMap { Int($0, radix: 16) }
      guard words.count > 5, ends.count == 2, isDevice(words[3]), let inode = UInt64(words[4])
      else { continue }
      mapped[inode, default: 0] += ends[1] - ends[0]
    }
    // For a file that is also open, the size is known.
    sizes.merge(mapped) { known, _ in known }
  }

  /// Whether two hexadecimal numbers are the device's. Source: makedev(3).
  private func isDevice(_ text: Substring) -> Bool {
    let numbers = text.split(separator: ":").compactMap { UInt64($0, radix: 16) }
    guard numbers.count == 2 else { return false }
    let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
    let minor = device & 0xFF | device >> 12 & ~0xFF & 0xFFFF_FFFF
    return numbers == [major, minor]
  }
}
