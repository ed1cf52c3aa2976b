import Catalog
package import PipelineModel
import Synchronization

/// Waits for a catalog that another program such as `sqlite3` has locked, and warns about it.
package final class ReportingBusyHandler: CatalogBusyHandler {
  private let bound: Duration?
  private let signals: SignalHandler
  private let warn: @Sendable (String) -> Void
  private let nextWarning = Mutex<ContinuousClock.Instant?>(nil)

  /// The wait before the first warning, and the interval between warnings.
  private static let (delay, pause) = (Duration.seconds(2), Duration.seconds(300))
  /// The longest wait after the program was asked to stop: jobs need the rest of the ten
  /// seconds.
  private static let grace = Duration.seconds(1)

  /// - Parameters:
  ///   - bound: the longest wait; `nil` to wait until a signal.
  ///   - warn: tells the user.
  package init(
    bound: Duration?, signals: SignalHandler = .shared,
    warn: @escaping @Sendable (String) -> Void
  ) {
    self.bound = bound
    self.signals = signals
    self.warn = warn
  }

  package func shouldRetry(waitingFor catalog: BytePath, since waited: Duration) -> Bool {
    // Waiting for another program is no hang.
    Heartbeat.shared.beat()
    if signals.isStopRequested(for: Self.grace) { return false }
    if let bound, waited >= bound { return false }
    if waited >= Self.delay, isWarningDue {
      warn(
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
