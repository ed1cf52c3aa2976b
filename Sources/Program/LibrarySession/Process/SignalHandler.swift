import Files
import Glibc
import Synchronization

/// Handles signals: the first makes the program finish its current work, the
/// second ends it at once. SIGHUP, if listened for, reloads the configuration.
package final class SignalHandler: Sendable {
  /// The first signal received, or 0.
  private let received = Atomic<Int32>(0)
  private let receivedAt = Mutex<ContinuousClock.Instant?>(nil)
  /// Whether a SIGHUP is still to be handled.
  private let isReloadDue = Atomic(false)
  /// A second signal within this time counts as the first: timeout(1) signals both
  /// the program and its process group.
  private static let echo = Duration.milliseconds(500)
  /// How long workers, then the whole program, may take to end before they are killed: the program
  /// may be waiting for a thread that it can't get, or for a disk.
  private static let patience = (workers: Duration.seconds(9), program: Duration.seconds(12))
  /// The interval of these checks after a signal, in milliseconds.
  private static let pause = 100

  /// The handler of this process.
  package static let shared = SignalHandler()

  package init() {}

  /// Starts handling SIGINT and SIGTERM. Until then, and in verbs that neither
  /// import files nor run jobs, a signal ends the program at once.
  ///
  /// - Parameter onSignal: called on each signal, on a separate thread.
  package func listen(onSignal: @escaping @Sendable () -> Void = {}) {
    wait(for: [SIGINT, SIGTERM]) { [self] in
      receive($0)
      onSignal()
    } meanwhile: { [self] in
      if isStopRequested(for: Self.patience.workers) { ChildProcess.endAll() }
      if isStopRequested(for: Self.patience.program) { endAtOnce() }
    }
  }

  /// Starts handling SIGHUP, too, which otherwise ends the program.
  ///
  /// - Parameter onSignal: called on each signal, on a separate thread.
  package func listenForReload(onSignal: @escaping @Sendable () -> Void) {
    wait(for: [SIGHUP]) { [self] _ in
      isReloadDue.store(true, ordering: .relaxed)
      onSignal()
    } meanwhile: {
    }
  }

  /// Waits for signals on a thread created now, because later none may be available.
  ///
  /// A Dispatch source would need a new thread to deliver a signal.
  ///
  /// - Parameter meanwhile: called ten times a second after a signal to stop.
  private func wait(
    for numbers: [Int32], _ body: @escaping @Sendable (Int32) -> Void,
    meanwhile: @escaping @Sendable () -> Void
  ) {
    let signals = AwaitedSignals(numbers)
    do throws(FileError) {
      try DedicatedThread.start { [self] in
        while true {
          if let number = signals.next(within: isStopRequested ? Self.pause : nil) { body(number) }
          meanwhile()
        }
      }
    } catch {
      // Without the thread, signals keep ending the program at once.
      return
    }
    signals.holdBack()
  }

  /// Does what a signal is to do; `listen` calls it.
  func receive(_ number: Int32) {
    let (isFirst, _) = received.compareExchange(
      expected: 0, desired: number, ordering: .sequentiallyConsistent)
    let now = ContinuousClock().now
    if isFirst { receivedAt.withLock { $0 = now } }
    if self === Self.shared { CurrentProcess.isAskedToEnd.store(true, ordering: .relaxed) }
    let first = receivedAt.withLock { $0 } ?? now
    if !isFirst, now - first > Self.echo { endAtOnce() }
  }

  /// Ends the program and its workers immediately; the next run can recover from any point.
  private func endAtOnce() -> Never {
    ChildProcess.endAll()
    _exit(128 + received.load(ordering: .relaxed))
  }

  /// Whether to reload the configuration.
  var isReloadRequested: Bool { isReloadDue.load(ordering: .relaxed) }

  /// The same; resets the flag.
  func consumeReload() -> Bool { isReloadDue.exchange(false, ordering: .relaxed) }

  package var isStopRequested: Bool { received.load(ordering: .relaxed) != 0 }

  /// Whether the program was asked to stop at least this long ago.
  func isStopRequested(for time: Duration) -> Bool {
    receivedAt.withLock { $0.map { ContinuousClock().now - $0 >= time } } ?? false
  }

  /// The number of the first signal received, if any.
  package var signal: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }
}
