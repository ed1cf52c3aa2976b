import Files
import Glibc
import PipelineModel
import Synchronization

/// A thread that checks workers periodically and lives as long as the program.
///
/// A Dispatch timer needs a new thread to fire, which is unavailable just when a worker that used
/// up the user's threads must be ended. For the same reason, checks must not submit work to a
/// Dispatch queue.
final class Watchdog: Sendable {
  /// Returns the seconds until the next call, or `nil` to stop.
  typealias Check = @Sendable () -> Double?

  /// Checks processes and clocks, which takes negligible time.
  static let processes = Watchdog()
  /// Checks files, which takes as long as the file system does.
  static let files = Watchdog()

  /// The seconds between two checks of the processes of a worker that is not idle.
  static let interval = 1 / Double(checksEachSecond)
  static let checksEachSecond = 50
  /// The seconds between two checks of its files.
  static let filesInterval = 0.2

  fileprivate struct Entry: Sendable {
    var due: ContinuousClock.Instant
    let check: Check
  }

  private let thread = PollingThread("a watchdog's pipe")
  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  private init() {}

  /// Starts both threads unless they are running; called before there is anything to check.
  ///
  /// - Throws: `FileError` if the user may have no more threads or open files.
  static func begin() throws(FileError) {
    for watchdog in [processes, files] { try watchdog.thread.begin { watchdog.round($0) } }
  }

  fileprivate func start(_ timer: ObjectIdentifier, _ entry: Entry) {
    entries.withLock { $0[timer] = entry }
    thread.wake()
  }

  fileprivate func stop(_ timer: ObjectIdentifier) {
    let entry = entries.withLock { $0.removeValue(forKey: timer) }
    // Released outside the lock, because the check may hold the last reference to a timer.
    withExtendedLifetime(entry) {}
  }

  /// Calls all checks that are due, and waits for the next.
  private func round(_ wait: PollingThread.Wait) {
    for timer in entries.withLock({ Array($0.keys) }) { call(timer) }
    let due = entries.withLock { $0.values.map(\.due).min() }
    wait(atMost: due.map { $0 - .now })
  }

  private func call(_ timer: ObjectIdentifier) {
    let start = ContinuousClock.Instant.now
    guard let entry = entries.withLock({ $0[timer] }), entry.due <= start else { return }
    let interval = entry.check()
    let end = ContinuousClock.Instant.now
    entries.withLock { entries in
      // Unless it was started again or stopped meanwhile.
      guard entries[timer]?.due == entry.due else { return }
      guard let interval else { return entries[timer] = nil }
      // Checks use at most a tenth of a processor, however much there is to check.
      let pause = (end - start) * (10 * entries.count - 1)
      entries[timer]?.due = max(start + .seconds(interval), end + pause)
    }
    withExtendedLifetime(entry) {}
  }
}

/// Repeats a check on a watchdog's thread while there is something to check.
final class WatchdogTimer: Sendable {
  private let watchdog: Watchdog

  init(_ watchdog: Watchdog) { self.watchdog = watchdog }

  deinit { stop() }

  /// Calls a check after some seconds, and again as it says; replaces the previous one.
  func start(after seconds: Double, _ check: @escaping Watchdog.Check) {
    watchdog.start(
      ObjectIdentifier(self), Watchdog.Entry(due: .now + .seconds(seconds), check: check))
  }

  /// Stops and releases the check, unless a call is in progress.
  func stop() { watchdog.stop(ObjectIdentifier(self)) }
}

/// A thread that repeats a task and, in between, waits for descriptors, a timeout or a wake-up. It
/// lives as long as the program. Source: poll(2).
final class PollingThread: Sendable {
  private let name: BytePath
  /// The wake-up pipe; `nil` until the thread starts.
  private let wakeup = Mutex<PipeEnds?>(nil)

  /// Creates a polling thread that is not running.
  ///
  /// - Parameter name: the pipe's name in errors.
  init(_ name: BytePath) { self.name = name }

  /// Starts the thread unless it is running.
  ///
  /// - Parameter round: does the work, then calls the `wait` that it is passed, once.
  /// - Throws: `FileError` if the user may have no more threads or open files.
  func begin(_ round: @escaping @Sendable (Wait) -> Void) throws(FileError) {
    if wakeup.withLock({ $0 != nil }) { return }
    let pipe = try PipeEnds(name)
    for end in [pipe.reading, pipe.writing] { try end.setNonBlocking() }
    let isFirst = wakeup.withLock { wakeup in
      defer { wakeup = wakeup ?? pipe }
      return wakeup == nil
    }
    guard isFirst else { return }
    let wait = Wait(pipe.reading)
    do throws(FileError) {
      // Not inside the lock, which the new thread takes.
      try DedicatedThread.start { while true { Self.go(round, wait) } }
    } catch {
      wakeup.withLock { $0 = nil }
      throw error
    }
  }

  /// Starts the next round at once if the thread is waiting.
  func wake() {
    // A full pipe wakes the thread, too.
    if let pipe = wakeup.withLock(\.self) { _ = try? pipe.writing.writeSome([0]) }
  }

  // Not inlined: values created in an endless loop are never released. Source:
  // github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private static func go(_ round: @Sendable (Wait) -> Void, _ wait: Wait) { round(wait) }

  /// The wait between two rounds.
  struct Wait: Sendable {
    private let pipe: Descriptor

    fileprivate init(_ pipe: Descriptor) { self.pipe = pipe }

    /// Returns when there is something to read, the time is over or `wake` was called.
    ///
    /// - Parameter time: the longest wait; `nil` for no limit.
    /// - Returns: for each descriptor the events that poll(2) reports; 0 for none.
    @discardableResult
    func callAsFunction(
      for descriptors: [Descriptor] = [], atMost time: Duration? = nil
    ) -> [Int32] {
      var polled = (descriptors + [pipe]).map {
        pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0)
      }
      let milliseconds = time.map {
        Int32(clamping: max(0, Int(($0 / .milliseconds(1)).rounded(.up))))
      }
      let count = poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
      // Keep the descriptors open until here.
      withExtendedLifetime(descriptors) {}
      withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
        // The bytes only serve to wake the thread.
        _ = try? pipe.readSome(into: buffer)
      }
      return polled.dropLast().map { count > 0 ? Int32($0.revents) : 0 }
    }
  }
}
