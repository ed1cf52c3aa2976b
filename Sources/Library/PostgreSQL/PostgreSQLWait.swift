import Files
import Glibc
import Synchronization

/// A wait for a server, which ends if the process is asked to end: a server that is stalled, or a lock that another
/// session holds, must not keep it.
struct PostgreSQLWait {
  private let start = ContinuousClock.now
  private let limit: Duration?

  /// How long a process that is asked to end waits for servers; each wait has at least the second time.
  private static let patience = (whole: Duration.seconds(5), each: Duration.seconds(1))
  /// When the process was first seen to be asked to end.
  private static let askedAt = Mutex<ContinuousClock.Instant?>(nil)

  /// - Parameter limit: how long to wait anyway; by default without a limit.
  init(limit: Duration? = nil) { self.limit = limit }

  /// Whether nobody is to wait any longer.
  var isOver: Bool {
    let now = ContinuousClock.now
    if let limit, now - start > limit { return true }
    guard CurrentProcess.isAskedToEnd.load(ordering: .relaxed) else { return false }
    let asked = Self.askedAt.withLock { asked in
      let first = asked ?? now
      asked = first
      return first
    }
    return now - asked > Self.patience.whole && now - start > Self.patience.each
  }

  /// Waits for a descriptor, for some milliseconds at most. Source: poll(2).
  ///
  /// - Returns: whether it is ready.
  func poll(_ descriptor: Int32, _ events: Int16, step: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: events, revents: 0)
    return Glibc.poll(&entry, 1, step) > 0
  }
}
