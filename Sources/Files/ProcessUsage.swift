import Glibc
import PipelineModel

/// What processes use of the machine. Source: proc(5).
package struct ProcessUsage: Hashable, Sendable {
  /// How many processes.
  package var processes = 0
  /// How many threads they have.
  package var threads = 0
  /// Bytes of memory, and of the tables that tell where it is; what is as well in a file is not
  /// counted.
  package var memoryBytes = 0
  /// Seconds on processors.
  package var processorSeconds = 0.0

  /// Returns what one process uses, or `nil` if there is none of this number.
  package static func of(process id: Int32) -> ProcessUsage? {
    guard let memory = memory(of: "\(id)"), let stat = ProcessStat(id) else { return nil }
    return ProcessUsage(
      processes: 1, threads: stat.threads, memoryBytes: memory,
      processorSeconds: stat.processorSeconds)
  }

  /// Returns what all processes of a group use together.
  package static func of(group id: Int32) -> ProcessUsage {
    var sum = ProcessUsage()
    for stat in ProcessStat.all() where stat.group == id {
      sum.processes += 1
      sum.threads += stat.threads
      sum.memoryBytes += memory(of: "\(stat.id)") ?? 0
      sum.processorSeconds += stat.processorSeconds
    }
    return sum
  }

  /// Source: proc(5), `/proc/PID/status`.
  ///
  /// - Returns: `nil` for a process that has ended and was not reaped, which has none of these lines.
  private static func memory(of process: String) -> Int? {
    guard let text = ProcessStat.read("/proc/\(process)/status") else { return nil }
    let sizes = text.split(separator: "\n").compactMap { line -> Int? in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count > 1, kinds.contains(words[0]) else { return nil }
      return Int(words[1])
    }
    return sizes.isEmpty ? nil : sizes.reduce(0, +) << 10
  }

  /// What counts as memory, in kibibytes: of the process's own, shared and no file's, on the swap
  /// device, in large pages, and the tables of pages.
  private static let kinds: Set<Substring> = [
    "RssAnon:", "RssShmem:", "VmSwap:", "HugetlbPages:", "VmPTE:",
  ]
}

/// A line of `/proc/PID/stat`, as far as it matters here.
package struct ProcessStat: Hashable, Sendable {
  /// The process's number.
  package let id: Int32
  /// Its group's number.
  package let group: Int32
  /// Seconds on processors, those of its children that have ended included.
  package let processorSeconds: Double
  /// How many threads it has.
  package let threads: Int
  /// When it began, in ticks since the machine did: with the number a name that is never used twice.
  package let start: Int

  /// Reads the line of a process; `nil` if there is none of this number.
  package init?(_ id: Int32) {
    guard let text = Self.read("/proc/\(id)/stat"),
      // The name of the program is in parentheses and may hold anything.
      let end = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 20, let group = Int32(fields[2]), let threads = Int(fields[17]),
      let start = Int(fields[19])
    else { return nil }
    let ticks = fields[11...14].reduce(0) { $0 + (Double($1) ?? 0) }
    self.id = id
    self.group = group
    self.threads = threads
    self.start = start
    processorSeconds = ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Reads the lines of all processes that can be seen.
  package static func all() -> [ProcessStat] {
    guard let folder = try? Descriptor.openFolder("/proc"), let entries = try? folder.entries()
    else { return [] }
    return entries.compactMap { entry in
      Int32(entry.name.description).flatMap { ProcessStat($0) }
    }
  }

  /// Reads a file of /proc, which the kernel gives whole at the first read.
  static func read(_ path: String) -> String? {
    // One that can't be opened or read is that of a process that is gone.
    guard let file = try? Descriptor.open(BytePath(path), flags: O_RDONLY) else { return nil }
    // Seldom longer than 2 KiB; but a process can have thousands of groups, each of them named.
    return withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
      guard let count = try? file.read(into: buffer) else { return nil }
      return String(decoding: buffer[..<count], as: UTF8.self)
    }
  }
}
