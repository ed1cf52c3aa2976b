import Files
import Glibc
import PipelineModel
import Synchronization

/// A thread that does something again and again, and in between waits for descriptors, a time or to
/// be woken. It lives as long as the program. Source: poll(2).
final class PollingThread: Sendable {
  private let name: BytePath
  /// What it is woken by; `nil` until it runs.
  private let wakeup = Mutex<PipeEnds?>(nil)

  /// Makes one that does not run yet.
  ///
  /// - Parameter name: what errors call its pipe.
  init(_ name: BytePath) { self.name = name }

  /// Starts it, unless it runs.
  ///
  /// - Parameter round: does what is to be done, and then calls `wait` of what it is given, once.
  /// - Throws: `FileError` where the user may have no more threads or open files.
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
      // Not within the lock, which the new thread takes.
      try DedicatedThread.start { while true { Self.go(round, wait) } }
    } catch {
      wakeup.withLock { $0 = nil }
      throw error
    }
  }

  /// Has it go round once more, if it waits; at once.
  func wake() {
    // A pipe that is full wakes as well.
    if let pipe = wakeup.withLock(\.self) { _ = try? pipe.writing.writeSome([0]) }
  }

  // Not inlined: what is made within a loop without an end is never released.
  // Source: github.com/swiftlang/swift/pull/86644.
  @inline(never)
  private static func go(_ round: @Sendable (Wait) -> Void, _ wait: Wait) { round(wait) }

  /// How the thread waits.
  struct Wait: Sendable {
    private let pipe: Descriptor

    fileprivate init(_ pipe: Descriptor) { self.pipe = pipe }

    /// Returns once there is something to be read, the time is over or somebody woke the thread.
    ///
    /// - Parameter time: `nil` for no end.
    /// - Returns: for each descriptor what happened there, as poll(2) says it; 0 for nothing.
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
      // Kept open until then.
      withExtendedLifetime(descriptors) {}
      withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
        // What is in it says nothing but that it is time to go round.
        _ = try? pipe.readSome(into: buffer)
      }
      return polled.dropLast().map { count > 0 ? Int32($0.revents) : 0 }
    }
  }
}
