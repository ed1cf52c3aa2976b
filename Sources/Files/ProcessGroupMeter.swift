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

  /// Creates a meter for a group.
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
    seen = Dictionary(
      stats.map { (Key(id: $0.id, start: $0.start), $0) }, uniquingKeysWith: { $1 })
    var usage = ProcessUsage.of(stats)
    usage.processorSeconds = seconds
    return usage
  }
}
