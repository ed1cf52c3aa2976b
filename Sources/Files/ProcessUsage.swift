import CLinux
import Glibc
import PipelineModel

/// What processes use of the machine. Source: proc(5).
package struct ProcessUsage: Hashable, Sendable {
  /// How many processes; one that has ended counts until it is waited for.
  package var processes = 0
  /// How many threads they have.
  package var threads = 0
  /// Bytes of memory, and of the tables that tell where it is; what is as well in a file is not
  /// counted.
  package var memoryBytes = 0
  /// Seconds on processors.
  package var processorSeconds = 0.0
  /// Whether a process is alive of whose memory nothing is told. Every one has some; one that begins
  /// to end has none for a moment.
  package var hidesMemory = false

  /// Makes one of nothing.
  package init() {}

  private init(processes: Int, threads: Int) {
    self.processes = processes
    self.threads = threads
  }

  /// Returns what one process uses, or `nil` if there is none of this number.
  ///
  /// A process whose first thread has ended is there as long as another one is.
  package static func of(process id: Int32) -> ProcessUsage? { of(process: id, in: "/proc") }

  /// - Parameter processes: where the kernel tells of processes.
  static func of(process id: Int32, in processes: BytePath) -> ProcessUsage? {
    guard let stat = ProcessStat(id, in: processes), !stat.hasEnded else { return nil }
    return of([stat], in: processes)
  }

  /// Returns what all processes of a group use together.
  package static func of(group id: Int32) -> ProcessUsage {
    of(ProcessStat.all(inGroup: id))
  }

  /// Returns how many processes and threads a group has, and nothing more.
  ///
  /// - Parameter mayFork: whether it may have more than the process that heads it.
  package static func count(group id: Int32, mayFork: Bool) -> ProcessUsage {
    let stats = mayFork ? ProcessStat.all(inGroup: id) : [ProcessStat(id)].compactMap(\.self)
    return ProcessUsage(
      processes: stats.count, threads: stats.reduce(0) { $0 + $1.threads })
  }

  /// Returns what some processes use together.
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
    // The folder goes with the process.
    guard let folder = try? Descriptor.openFolder(threads), let entries = try? folder.entries()
    else { return false }
    return entries.contains { entry in
      guard let id = entry.name.utf8.flatMap({ Int32($0) }) else { return false }
      return ProcessStat(id, in: threads).map { !$0.isEnding } ?? false
    }
  }

  /// Source: proc(5), `/proc/PID/status`.
  ///
  /// Threads share their memory, but the kernel tells of it by threads that are there: where the
  /// first has ended, which is the process's own entry, another one has to be asked.
  ///
  /// - Returns: `nil` where none of them tells any.
  private static func memory(of process: Int32, in processes: BytePath) -> Int? {
    if let bytes = memory("\(processes)/\(process)/status") { return bytes }
    let threads = processes.appending("\(process)/task")
    // Of one that is ending no thread has memory any more, and the folder goes.
    guard let folder = try? Descriptor.openFolder(threads), let entries = try? folder.entries()
    else { return nil }
    for entry in entries {
      if let bytes = memory("\(threads)/\(entry.name)/status") { return bytes }
    }
    return nil
  }

  /// - Returns: `nil` for a thread that has ended, which has none of these lines.
  private static func memory(_ path: String) -> Int? {
    ProcessStat.read(path) { text in
      var sum: Int?
      var rest = text
      // Often, and of every worker: so without texts of the lines.
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

  /// What counts as memory, in kibibytes: of the process's own, shared and no file's, on the swap
  /// device, in large pages, and the tables of pages.
  private static let kinds: [StaticString] = [
    "RssAnon:", "RssShmem:", "VmSwap:", "HugetlbPages:", "VmPTE:",
  ]
}

/// A line of `/proc/PID/stat`, as far as it matters here.
package struct ProcessStat: Hashable, Sendable {
  /// The process's number.
  package let id: Int32
  /// Its group's number.
  package let group: Int32
  /// Seconds on processors of its own.
  package let ownSeconds: Double
  /// Seconds on processors of its children that have ended and that it waited for.
  package let childrenSeconds: Double
  /// How many threads it has.
  package let threads: Int
  /// When it began, in ticks since the machine did: with the number a name that is never used twice.
  package let start: Int
  /// Whether no thread of it is left, so that it only waits to be waited for.
  package let hasEnded: Bool
  /// Whether its first thread, or the thread that was asked for, has begun to end.
  let isEnding: Bool

  /// Seconds on processors, those of its children that have ended included.
  package var processorSeconds: Double { ownSeconds + childrenSeconds }

  /// Makes one that was not read.
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

  /// Reads the line of a process; `nil` if there is none of this number.
  package init?(_ id: Int32) { self.init(id, in: "/proc") }

  /// Reads the line of a process, or of a thread; `nil` if there is none of this number.
  ///
  /// - Parameter folder: where the kernel tells of processes, or of the threads of one.
  init?(_ id: Int32, in folder: BytePath) {
    guard
      let text = Self.read("\(folder)/\(id)/stat", { String(decoding: $0, as: UTF8.self) }),
      // The name of the program is in parentheses and may hold anything.
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
    // The first thread alone may have ended: then the state is the same, and others are counted.
    let isOver = ["Z", "X"].contains(fields[0])
    hasEnded = isOver && threads < 2
    isEnding = isOver || (UInt64(fields[6]) ?? 0) & Self.exiting != 0
    ownSeconds = seconds[0] + seconds[1]
    childrenSeconds = seconds[2] + seconds[3]
  }

  /// PF_EXITING of the kernel's <linux/sched.h>: it has begun to end, and lets go of its memory.
  private static let exiting: UInt64 = 4

  private static let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))

  /// Reads the lines of a group's processes.
  package static func all(inGroup group: Int32) -> [ProcessStat] {
    // Asked of each, which costs much less than to read all lines. Source: getpgid(2).
    numbers().filter { getpgid($0) == group }.compactMap { ProcessStat($0) }
      .filter { $0.group == group }
  }

  /// Reads the lines of all processes that can be seen.
  package static func all() -> [ProcessStat] { numbers().compactMap { ProcessStat($0) } }

  private static func numbers() -> [Int32] {
    guard let folder = opendir("/proc") else { return [] }
    defer { closedir(folder) }
    var numbers: [Int32] = []
    while let entry = readdir(folder) {
      // Names that are no numbers are 0. The name ends with a 0, so `atoi` reads no further.
      let number = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { atoi($0) }
      }
      if number > 0 { numbers.append(number) }
    }
    return numbers
  }

  /// Reads a file of /proc, which the kernel gives whole at the first read.
  ///
  /// - Parameter body: gets it with a 0 at its end.
  static func read<Result>(
    _ path: String, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    // One that can't be opened or read is that of a process that is gone.
    guard let file = try? Descriptor.open(BytePath(path), flags: O_RDONLY) else { return nil }
    // Seldom longer than 2 KiB; but a process can have thousands of groups, each of them named.
    return withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.dropLast())
      guard let count = try? file.read(into: room) else { return nil }
      buffer[count] = 0
      return body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }
}
