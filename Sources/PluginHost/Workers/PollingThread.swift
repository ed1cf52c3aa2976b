import Files
import Glibc
import PipelineModel
import Synchronization

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
