import Synchronization

/// Signs of life for the service manager, given by the thread that takes files
/// and nowhere else: where it hangs, the manager hears nothing and acts.
final class Pulse: Sendable {
  private struct State {
    var service: ServiceManager?
    var interval: Duration?
    var last: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  /// The pulse of this process; silent until it is begun.
  static let shared = Pulse()

  /// Begins to give signs to a manager that waits for them.
  func begin(_ service: ServiceManager) {
    state.withLock { state in
      state.service = service
      // Half of the bound, so that a sign that is a little late does no harm.
      state.interval = service.watchdogInterval.map { $0 / 2 }
    }
    beat()
  }

  /// Gives a sign if it is time.
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

  /// When the next sign is due, `nil` if nobody waits for one.
  var next: ContinuousClock.Instant? {
    state.withLock { state in
      guard let interval = state.interval, let last = state.last else { return nil }
      return last + interval
    }
  }
}
