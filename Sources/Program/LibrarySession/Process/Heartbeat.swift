import Synchronization

/// Watchdog messages to the service manager, sent by the main thread only: if
/// that thread hangs, the manager acts.
final class Heartbeat: Sendable {
  private struct State {
    var service: ServiceManager?
    var interval: Duration?
    var last: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  /// The heartbeat of this process; silent until `begin`.
  static let shared = Heartbeat()

  /// Starts sending messages if the manager expects them.
  func begin(_ service: ServiceManager) {
    state.withLock { state in
      state.service = service
      // Half of the interval, so that a slightly late message does no harm.
      state.interval = service.watchdogInterval.map { $0 / 2 }
    }
    beat()
  }

  /// Sends a message if one is due.
  func beat() {
    let now = ContinuousClock().now
    let service = state.withLock { state -> ServiceManager? in
      guard let interval = state.interval else { return nil }
      if let last = state.last, now - last < interval { return nil }
      state.last = now
      return state.service
    }
    service?.ping()
  }

  /// When the next message is due; `nil` if the manager expects none.
  var next: ContinuousClock.Instant? {
    state.withLock { state in
      guard let interval = state.interval, let last = state.last else { return nil }
      return last + interval
    }
  }
}
