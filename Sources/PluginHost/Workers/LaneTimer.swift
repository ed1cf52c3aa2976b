import Synchronization

/// Ticks on the thread of a watchdog while something is to be watched.
final class LaneTimer: Sendable {
  private struct State {
    var body: (@Sendable () -> Void)?
    var number: Int?
  }

  private let watchdog: Watchdog
  private let state = Mutex(State())

  /// Makes one that does not tick yet.
  init(_ watchdog: Watchdog) { self.watchdog = watchdog }

  deinit { stop() }

  /// Sets what is called at each tick; once, before the first `start`.
  func onTick(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.body = body } }

  /// Ticks from now on, every so many seconds.
  func start(every seconds: Double) {
    let interval = Duration.seconds(seconds)
    state.withLock { state in
      if let number = state.number { return watchdog.change(number, every: interval) }
      if let body = state.body { state.number = watchdog.add(every: interval, body) }
    }
  }

  /// Ticks no more.
  func stop() {
    state.withLock { state in
      if let number = state.number { watchdog.remove(number) }
      state.number = nil
    }
  }

  /// Never ticks again, and lets go of what it called.
  func end() {
    stop()
    let body = state.withLock { state in
      defer { state.body = nil }
      return state.body
    }
    // Released out of the lock: this may be what keeps the timer.
    withExtendedLifetime(body) {}
  }
}
