import Synchronization

/// A timer on a watchdog's thread that runs while there is something to watch.
final class WatchdogTimer: Sendable {
  private struct State {
    var body: (@Sendable () -> Void)?
    var number: Int?
  }

  private let watchdog: Watchdog
  private let state = Mutex(State())

  init(_ watchdog: Watchdog) { self.watchdog = watchdog }

  deinit { stop() }

  /// Sets the tick handler; called once, before the first `start`.
  func onTick(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.body = body } }

  /// Starts ticking at an interval in seconds, or changes the interval.
  func start(every seconds: Double) {
    let interval = Duration.seconds(seconds)
    state.withLock { state in
      if let number = state.number { return watchdog.change(number, every: interval) }
      if let body = state.body { state.number = watchdog.add(every: interval, body) }
    }
  }

  func stop() {
    state.withLock { state in
      if let number = state.number { watchdog.remove(number) }
      state.number = nil
    }
  }

  /// Stops for good and releases the tick handler.
  func end() {
    stop()
    let body = state.withLock { state in
      defer { state.body = nil }
      return state.body
    }
    // Released outside the lock, because the handler may hold the last reference to the timer.
    withExtendedLifetime(body) {}
  }
}
