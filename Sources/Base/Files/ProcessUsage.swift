import Glibc
import PipelineModel

/// Resource usage of processes. Source: proc(5).
package struct ProcessUsage: Hashable, Sendable {
  /// The number of processes; an ended one counts until it is reaped.
  package var processes = 0
  package var threads = 0
  /// Bytes of memory, including page tables; memory backed by a file is not counted.
  package var memoryBytes = 0
  package var processorSeconds = 0.0
  /// Whether the kernel reports no memory for a live process. Every one has some, except for a
  /// moment when it begins to end.
  package var hidesMemory = false

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

  package static func of(group id: Int32) -> ProcessUsage {
    of(ProcessStat.all(inGroup: id))
  }

  /// Returns only the numbers of processes and threads in a group.
  ///
  /// - Parameter mayFork: whether it may have processes besides its leader.
  package static func count(group id: Int32, mayFork: Bool) -> ProcessUsage {
    let stats = mayFork ? ProcessStat.all(inGroup: id) : [ProcessStat(id)].compactMap(\.self)
    return ProcessUsage(processes: stats.count, threads: stats.reduce(0) { $0 + $1.threads })
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

/// The current and past usage of a process group, including processes that nobody waits for.
///
/// The kernel adds the time of an ended process to the process that waited for it. If none does,
/// for example because SIGCHLD is ignored, that time is lost, so the last value seen is kept here.
/// A process that starts and ends between two looks, unwaited for, is missed.
package struct ProcessGroupMeter: Sendable {
  /// Identifies a process; IDs are reused.
  private struct Key: Hashable {
    let id: Int32
    let start: Int
  }

  private let id: Int32
  private var seen: [Key: ProcessStat] = [:]
  private var reaped = 0.0
  private var seconds = 0.0

  package init(group id: Int32) { self.id = id }

  /// Measures all processes of the group.
  ///
  /// - Parameter reapedSeconds: the total CPU time so far of processes that this program reaped.
  package mutating func look(reapedSeconds: Double = 0) -> ProcessUsage {
    count(ProcessStat.all(inGroup: id), reapedSeconds: reapedSeconds)
  }

  /// Records the processes that exist now.
  mutating func count(_ stats: [ProcessStat], reapedSeconds: Double) -> ProcessUsage {
    var rest = seen
    var waitedFor = reapedSeconds - reaped
    for stat in stats {
      let before = rest.removeValue(forKey: Key(id: stat.id, start: stat.start))
      seconds += max(0, stat.ownSeconds - (before?.ownSeconds ?? 0))
      waitedFor += max(0, stat.childrenSeconds - (before?.childrenSeconds ?? 0))
    }
    // Time seen of processes now gone is already counted, and may appear again in the time of the
    // process that waited for them.
    let counted = rest.values.reduce(0) { $0 + $1.processorSeconds }
    seconds += max(0, waitedFor - counted)
    reaped = reapedSeconds
    seen = Dictionary(stats.map { (Key(id: $0.id, start: $0.start), $0) }, uniquingKeysWith: { $1 })
    var usage = ProcessUsage.of(stats)
    usage.processorSeconds = seconds
    return usage
  }
}
