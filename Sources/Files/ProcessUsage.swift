import CLinux
import Glibc
import PipelineModel

/// Resource usage of processes. Source: proc(5).
package struct ProcessUsage: Hashable, Sendable {
  /// The number of processes; an ended one counts until it is reaped.
  package var processes = 0
  /// Their number of threads.
  package var threads = 0
  /// Bytes of memory, including page tables; memory backed by a file is not counted.
  package var memoryBytes = 0
  /// CPU seconds.
  package var processorSeconds = 0.0
  /// Whether the kernel reports no memory for a live process. Every one has some, except for a
  /// moment when it begins to end.
  package var hidesMemory = false

  /// Creates an empty usage.
  package init() {}

  private init(processes: Int, threads: Int) {
    self.processes = processes
    self.threads = threads
  }

  /// Returns a process's usage; `nil` if there is no such process.
  ///
  /// A process whose first thread has ended exists while another thread does.
  package static func of(process id: Int32) -> ProcessUsage? { of(process: id, in: "/proc") }

  /// - Parameter processes: the folder of procfs.
  static func of(process id: Int32, in processes: BytePath) -> ProcessUsage? {
    guard let stat = ProcessStat(id, in: processes), !stat.hasEnded else { return nil }
    return of([stat], in: processes)
  }

  /// Returns the total usage of a group.
  package static func of(group id: Int32) -> ProcessUsage {
    of(ProcessStat.all(inGroup: id))
  }

  /// Returns only the numbers of processes and threads in a group.
  ///
  /// - Parameter mayFork: whether it may have processes besides its leader.
  package static func count(group id: Int32, mayFork: Bool) -> ProcessUsage {
    let stats = mayFork ? ProcessStat.all(inGroup: id) : [ProcessStat(id)].compactMap(\.self)
    return ProcessUsage(
      processes: stats.count, threads: stats.reduce(0) { $0 + $1.threads })
  }

  static func of(_ stats: [ProcessStat], in processes: BytePath = "/proc") -> ProcessUsage {
    var sum = ProcessUsage()
    for stat in stats {
      sum.processes += 1
      sum.threads += stat.threads
      sum.processorSeconds += stat.processorSeconds
      if stat.hasEnded { continue }
      if let bytes = memory(of: stat.id, in: processes) {
        sum.memoryBytes += bytes
      } else if isAlive(stat.id, in: processes) {
        sum.hidesMemory = true
      }
    }
    return sum
  }

  /// Whether a process has a thread that has not begun to end.
  static func isAlive(_ process: Int32, in processes: BytePath = "/proc") -> Bool {
    let threads = processes.appending("\(process)/task")
    // The folder vanishes with the process.
    guard let folder = try? Descriptor.openFolder(threads), let entries = try? folder.entries()
    else { return false }
    return entries.contains { entry in
      guard let id = entry.name.utf8.flatMap({ Int32($0) }) else { return false }
      return ProcessStat(id, in: threads).map { !$0.isEnding } ?? false
    }
  }

  /// Source: proc(5), `/proc/PID/status`.
  ///
  /// Threads share their memory, but only existing threads report it: if the first, the process's
  /// own entry, has ended, another one is read.
  ///
  /// - Returns: `nil` if no thread reports any.
  private static func memory(of process: Int32, in processes: BytePath) -> Int? {
    if let bytes = memory("\(processes)/\(process)/status") { return bytes }
    let threads = processes.appending("\(process)/task")
    // In an ending process no thread has memory, and the folder vanishes.
    guard let folder = try? Descriptor.openFolder(threads), let entries = try? folder.entries()
    else { return nil }
    for entry in entries {
      if let bytes = memory("\(threads)/\(entry.name)/status") { return bytes }
    }
    return nil
  }

  /// - Returns: `nil` for an ended thread, which lacks these lines.
  private static func memory(_ path: String) -> Int? {
    ProcessStat.read(path) { text in
      var sum: Int?
      var rest = text
      // Called often, for every worker, so without a string for each line.
      while !rest.isEmpty, let start = rest.baseAddress {
        let end = memchr(start, Int32(UInt8(ascii: "\n")), rest.count)
        let length = end.map { UnsafeRawPointer($0) - start } ?? rest.count
        for kind in kinds where length > kind.utf8CodeUnitCount {
          guard memcmp(start, kind.utf8Start, kind.utf8CodeUnitCount) == 0 else { continue }
          sum = (sum ?? 0) + (strtol(start + kind.utf8CodeUnitCount, nil, 10) << 10)
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(length + 1))
      }
      return sum
    } ?? nil
  }

  /// What counts as memory, in KiB: anonymous, shared without a file, swapped, in huge pages, and
  /// page tables.
  private static let kinds: [StaticString] = [
    "RssAnon:", "RssShmem:", "VmSwap:", "HugetlbPages:", "VmPTE:",
  ]
}

/// The needed fields of a `/proc/PID/stat`.
package struct ProcessStat: Hashable, Sendable {
  /// The process ID.
  package let id: Int32
  /// The process group ID.
  package let group: Int32
  /// CPU seconds of its own.
  package let ownSeconds: Double
  /// CPU seconds of its children that ended and that it waited for.
  package let childrenSeconds: Double
  /// The number of threads.
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

  /// Reads all processes of a group.
  package static func all(inGroup group: Int32) -> [ProcessStat] {
    // Calling getpgid(2) on each costs much less than reading them all.
    numbers().filter { getpgid($0) == group }.compactMap { ProcessStat($0) }
      .filter { $0.group == group }
  }

  /// Reads all visible processes.
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
  static func read<Result>(
    _ path: String, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
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
