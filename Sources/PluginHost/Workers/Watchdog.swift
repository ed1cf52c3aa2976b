import Files
import Glibc
import PipelineModel
import Synchronization

/// A thread that looks at workers every now and then, and lives as long as the program.
///
/// Not a timer of Dispatch: to tick, that needs a thread to be made, and a worker that has taken
/// all threads that the user may have is what is to be ended. Who is called here must not
/// hand anything to a queue of Dispatch either, which waits for such a thread.
final class Watchdog: Sendable {
  /// Looks at processes and clocks, which takes no time to speak of.
  static let processes = Watchdog()
  /// Looks at files, which takes as long as the file system does.
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

  /// Starts the threads of both, unless they run; before there is anything to look at.
  ///
  /// - Throws: `FileError` where the user may have no more threads or open files.
  static func begin() throws(FileError) {
    try processes.begin()
    try files.begin()
  }

  private func begin() throws(FileError) { try thread.begin { [self] in round($0) } }

  /// Begins to call somebody now and again.
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

  /// Calls more often or less, beginning after one such time.
  func change(_ number: Int, every interval: Duration) {
    state.withLock { state in
      state.entries[number]?.interval = interval
      state.entries[number]?.due = ContinuousClock().now + interval
    }
    thread.wake()
  }

  /// Calls no more, but may be calling at this moment.
  func remove(_ number: Int) { state.withLock { $0.entries[number] = nil } }

  /// Calls all whose time has come, and waits for the next.
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
      // Looks cost a tenth of a processor at most, however much there is to be seen.
      let pause = (end - start) * (10 * state.entries.count - 1)
      state.entries[number]?.due = max(start + interval, end + pause)
    }
  }
}
