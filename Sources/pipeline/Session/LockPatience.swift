import Catalog
import PipelineModel
import Synchronization

/// Waits for a catalog that somebody's `sqlite3` keeps locked, and says so.
final class LockPatience: CatalogPatience {
  private let console: Console
  private let bound: Duration?
  private let nextWarning = Mutex<ContinuousClock.Instant?>(nil)

  /// How long a wait is before it is told, and how long until it is told again.
  private static let (delay, pause) = (Duration.seconds(2), Duration.seconds(300))
  /// How long a wait may go on when the program was asked to stop: the rest of the ten
  /// seconds is for jobs.
  private static let grace = Duration.seconds(1)

  /// - Parameter bound: how long to wait; `nil` for until a signal comes.
  init(_ console: Console, bound: Duration?) {
    self.console = console
    self.bound = bound
  }

  func goesOn(waitingFor catalog: BytePath, since waited: Duration) -> Bool {
    // Who waits for somebody else does not hang.
    Pulse.shared.beat()
    if Interruption.shared.isRequested(for: Self.grace) { return false }
    if let bound, waited >= bound { return false }
    if waited >= Self.delay, isWarningDue {
      console.warning(
        "Another program, such as sqlite3, holds a transaction on the catalog "
          + "“\(catalog.printable)”: waiting until it ends.")
    }
    return true
  }

  private var isWarningDue: Bool {
    let now = ContinuousClock().now
    return nextWarning.withLock { next in
      if let next, now < next { return false }
      next = now + Self.pause
      return true
    }
  }
}
