import Files
import Glibc
import PipelineModel
import Synchronization

/// A thread that checks workers periodically and lives as long as the program.
///
/// A Dispatch timer needs a new thread to fire, which is unavailable just when a worker that used
/// up the user's threads must be ended. For the same reason, handlers must not submit work to a
/// Dispatch queue.
final class Watchdog: Sendable {
  /// Checks processes and clocks, which takes negligible time.
  static let processes = Watchdog()
  /// Checks files, which takes as long as the file system does.
  static let files = Watchdog()

  private struct Entry {
    var due: ContinuousClock.Instant
    var interval: Duration
    let body: @Sendable () -> Void
  }

  private struct State {
    var last = 0
    var entries: [Int: Entry] = [:]
  }

  private let thread = PollingThread("a watchdog's pipe")
  private let state = Mutex(State())

  private init() {}

  /// Starts both threads unless they are running; called before there is anything to check.
  ///
  /// - Throws: `FileError` if the user may have no more threads or open files.
  static func begin() throws(FileError) {
    try processes.begin()
    try files.begin()
  }

  private func begin() throws(FileError) { try thread.begin { [self] in round($0) } }

  /// Starts calling a handler periodically.
  ///
  /// - Returns: a number for `change` and `remove`.
  func add(every interval: Duration, _ body: @escaping @Sendable () -> Void) -> Int {
    let number = state.withLock { state in
      state.last += 1
      state.entries[state.last] = Entry(
        due: ContinuousClock().now + interval, interval: interval, body: body)
      return state.last
    }
    thread.wake()
    return number
  }

  /// Changes a handler's interval; the next call is one interval from now.
  func change(_ number: Int, every interval: Duration) {
    state.withLock { state in
      state.entries[number]?.interval = interval
      state.entries[number]?.due = ContinuousClock().now + interval
    }
    thread.wake()
  }

  /// Stops calling a handler; a call may be in progress.
  func remove(_ number: Int) { state.withLock { $0.entries[number] = nil } }

  /// Calls all handlers that are due, and waits for the next.
  private func round(_ wait: PollingThread.Wait) {
    for number in state.withLock({ Array($0.entries.keys) }) { call(number) }
    let due = state.withLock { $0.entries.values.map(\.due).min() }
    wait(atMost: due.map { $0 - ContinuousClock().now })
  }

  private func call(_ number: Int) {
    let start = ContinuousClock().now
    guard let entry = state.withLock({ $0.entries[number] }), entry.due <= start else { return }
    entry.body()
    let end = ContinuousClock().now
    state.withLock { state in
      guard let interval = state.entries[number]?.interval,
        state.entries[number]?.due == entry.due
      else { return }
      // Checks use at most a tenth of a processor, however much there is to check.
      let pause = (end - start) * (10 * state.entries.count - 1)
      state.entries[number]?.due = max(start + interval, end + pause)
    }
  }
}
