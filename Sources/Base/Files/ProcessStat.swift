import CLinux
import Glibc
import PipelineModel

/// The needed fields of a `/proc/PID/stat`.
package struct ProcessStat: Hashable, Sendable {
  package let id: Int32
  package let group: Int32
  /// CPU seconds of its own.
  package let ownSeconds: Double
  /// CPU seconds of its children that ended and that it waited for.
  package let childrenSeconds: Double
  package let threads: Int
  /// When it started, in ticks since boot; together with the ID never reused.
  package let start: Int
  /// Whether no thread is left, so that it only awaits being reaped.
  package let hasEnded: Bool
  /// Whether its first thread, or the requested thread, has begun to end.
  let isEnding: Bool

  /// CPU seconds, including those of reaped children.
  package var processorSeconds: Double { ownSeconds + childrenSeconds }

  init(
    id: Int32, group: Int32, ownSeconds: Double, childrenSeconds: Double, threads: Int = 1,
    start: Int, hasEnded: Bool = false
  ) {
    self.id = id
    self.group = group
    self.ownSeconds = ownSeconds
    self.childrenSeconds = childrenSeconds
    self.threads = threads
    self.start = start
    self.hasEnded = hasEnded
    isEnding = hasEnded
  }

  /// Reads a process; `nil` if there is no such process.
  package init?(_ id: Int32) { self.init(id, in: "/proc") }

  /// Reads a process or thread; `nil` if there is none of this ID.
  ///
  /// - Parameter folder: the folder of procfs, or of a process's threads.
  init?(_ id: Int32, in folder: BytePath) {
    guard
      let text = Self.read("\(folder)/\(id)/stat", { String(decoding: $0, as: UTF8.self) }),
      // The program's name is in parentheses and may contain anything.
      let end = text.utf8.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = text.utf8[text.utf8.index(after: end)...].split(separator: UInt8(ascii: " "))
      .map { Substring($0) }
    guard fields.count > 20, let group = Int32(fields[2]), let threads = Int(fields[17]),
      let start = Int(fields[19])
    else { return nil }
    let seconds = fields[11...14].map { (Double($0) ?? 0) / Self.ticks }
    self.id = id
    self.group = group
    self.threads = threads
    self.start = start
    // If only the first thread has ended, the state is the same, but other threads are counted.
    let isOver = ["Z", "X"].contains(fields[0])
    hasEnded = isOver && threads < 2
    isEnding = isOver || (UInt64(fields[6]) ?? 0) & Self.exiting != 0
    ownSeconds = seconds[0] + seconds[1]
    childrenSeconds = seconds[2] + seconds[3]
  }

  /// PF_EXITING of <linux/sched.h>: it has begun to end and releases its memory.
  private static let exiting: UInt64 = 4

  private static let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))

  package static func all(inGroup group: Int32) -> [ProcessStat] {
    // Calling getpgid(2) on each costs much less than reading them all.
    numbers().filter { getpgid($0) == group }.compactMap { ProcessStat($0) }
      .filter { $0.group == group }
  }

  package static func all() -> [ProcessStat] { numbers().compactMap { ProcessStat($0) } }

  private static func numbers() -> [Int32] {
    guard let folder = opendir("/proc") else { return [] }
    defer { closedir(folder) }
    var numbers: [Int32] = []
    while let entry = readdir(folder) {
      // `atoi` returns 0 for names that are no numbers, and stops at the zero byte after the name.
      let number = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
      }
      if number > 0 { numbers.append(number) }
    }
    return numbers
  }

  /// Reads a file of /proc, which the kernel returns whole in the first read.
  ///
  /// - Parameter body: receives the content, followed by a zero byte.
  static func read<Result>(_ path: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    // An unreadable file belongs to a process that is gone.
    guard let file = try? Descriptor.open(BytePath(path), flags: O_RDONLY) else { return nil }
    // Rarely above 2 KiB, but a process can have thousands of groups, all of them listed.
    return withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.dropLast())
      guard let count = try? file.read(into: room) else { return nil }
      buffer[count] = 0
      return body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
