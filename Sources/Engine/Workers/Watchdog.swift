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
    /// What the thread is woken by; `nil` until there is one.
    var wakeup: PipeEnds?
    var last = 0
    var entries: [Int: Entry] = [:]
  }

  private let state = Mutex(State())

  private init() {}

  /// Starts the threads of both, unless they run; before there is anything to look at.
  ///
  /// - Throws: `FileError` where the user may have no more threads or open files.
  static func begin() throws(FileError) {
    try processes.begin()
    try files.begin()
  }

  private func begin() throws(FileError) {
    // Not within the lock, which the new thread takes.
    if state.withLock({ $0.wakeup != nil }) { return }
    let wakeup = try PipeEnds("a watchdog's pipe")
    for end in [wakeup.reading, wakeup.writing] { try end.setNonBlocking() }
    let isFirst = state.withLock { state in
      defer { state.wakeup = state.wakeup ?? wakeup }
      return state.wakeup == nil
    }
    guard isFirst else { return }
    do throws(FileError) {
      try DedicatedThread.start { [self] in while true { next(wakeup.reading) } }
    } catch {
      state.withLock { $0.wakeup = nil }
      throw error
    }
  }

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
    wake()
    return number
  }

  /// Calls more often or less, beginning after one such time.
  func change(_ number: Int, every interval: Duration) {
    state.withLock { state in
      state.entries[number]?.interval = interval
      state.entries[number]?.due = ContinuousClock().now + interval
    }
    wake()
  }

  /// Calls no more, but may be calling at this moment.
  func remove(_ number: Int) { state.withLock { $0.entries[number] = nil } }

  private func wake() {
    // A pipe that is full wakes as well.
    if let pipe = state.withLock({ $0.wakeup }) { _ = try? pipe.writing.writeSome([0]) }
  }

  /// Calls all whose time has come, and waits for the next.
  // Not inlined: what is made within a loop without an end is never released.
  // Source: github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private func next(_ reading: Descriptor) {
    for number in state.withLock({ Array($0.entries.keys) }) { call(number) }
    let due = state.withLock { $0.entries.values.map(\.due).min() }
    var descriptor = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, due.map(Self.milliseconds) ?? -1)
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
      // What is in it says nothing but that it is time to look.
      _ = try? reading.readSome(into: buffer)
    }
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

  private static func milliseconds(until due: ContinuousClock.Instant) -> Int32 {
    let time = due - ContinuousClock().now
    return Int32(clamping: max(0, Int((time / .milliseconds(1)).rounded(.up))))
  }
}
