/// What the processes of a group use and have used, those included that nobody waits for.
///
/// The kernel adds the time of a process that has ended to that of who waited for it. Where
/// nobody does, as where SIGCHLD is ignored, it is lost; so what was seen of it is kept here.
/// What begins and ends between two looks, and is not waited for, is not seen.
package struct GroupMeter: Sendable {
  /// A process; numbers are used again.
  private struct Key: Hashable {
    let id: Int32
    let start: Int
  }

  private let id: Int32
  private var seen: [Key: ProcessStat] = [:]
  private var reaped = 0.0
  private var seconds = 0.0

  /// Makes a meter for a group.
  package init(group id: Int32) { self.id = id }

  /// Looks at all processes of the group.
  ///
  /// - Parameter reapedSeconds: the time, from the beginning, of those that this program waited for.
  package mutating func look(reapedSeconds: Double = 0) -> ProcessUsage {
    count(ProcessStat.all(inGroup: id), reapedSeconds: reapedSeconds)
  }

  /// Takes note of the processes that there are now.
  mutating func count(_ stats: [ProcessStat], reapedSeconds: Double) -> ProcessUsage {
    var rest = seen
    var waitedFor = reapedSeconds - reaped
    for stat in stats {
      let before = rest.removeValue(forKey: Key(id: stat.id, start: stat.start))
      seconds += max(0, stat.ownSeconds - (before?.ownSeconds ?? 0))
      waitedFor += max(0, stat.childrenSeconds - (before?.childrenSeconds ?? 0))
    }
    // What was seen of those that are gone was counted, and may be once more in the time of who
    // waited for them.
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
