import Files
import Glibc
import Synchronization

/// Answers signals: the first asks the program to finish what is in hand, the
/// second ends it at once. SIGHUP, where it is listened for, asks for the
/// configuration to be read again.
final class Interruption: Sendable {
  /// The signal that came, or 0.
  private let received = Atomic<Int32>(0)
  /// When it came.
  private let receivedAt = Mutex<ContinuousClock.Instant?>(nil)
  /// Whether SIGHUP came and was not answered yet.
  private let isReloadDue = Atomic(false)
  private struct Listener {
    /// Told when a signal came.
    var onSignal: (@Sendable () -> Void)?
  }
  // Within a struct: see `RunReport`.
  private let listener = Mutex(Listener())
  /// A second signal within this time is the first one again: timeout(1) sends
  /// one to the program and one to its process group.
  private static let echo = Duration.milliseconds(500)
  /// How long workers have to end, and then the whole program, before they are ended all the same:
  /// it may be waiting for a thread that it can't have, or for a disk.
  private static let patience = (workers: Duration.seconds(9), program: Duration.seconds(12))
  /// How often that is looked at once a signal has come, in milliseconds.
  private static let pause = 100

  static let shared = Interruption()

  /// Begins to listen for SIGINT and SIGTERM. Until then, and in verbs that don't
  /// take files or run jobs, a signal ends the program at once.
  func listen() {
    wait(for: [SIGINT, SIGTERM]) { [self] in
      take($0)
    } meanwhile: { [self] in
      if isRequested(for: Self.patience.workers) { ChildProcess.endAll() }
      if isRequested(for: Self.patience.program) { endAtOnce() }
    }
  }

  /// Begins to listen for SIGHUP, too, which else ends the program.
  ///
  /// - Parameter onSignal: told of each signal from now on, on a thread of its own.
  func listenForReload(onSignal: @escaping @Sendable () -> Void) {
    listener.withLock { $0.onSignal = onSignal }
    wait(for: [SIGHUP]) { [self] _ in
      isReloadDue.store(true, ordering: .relaxed)
      tell()
    } meanwhile: {
    }
  }

  /// Waits for signals on a thread that is made now, as there may be none to be had later.
  ///
  /// Not by a source of Dispatch, which needs a new thread to tell.
  ///
  /// - Parameter meanwhile: called ten times a second once a signal has asked the program to stop.
  private func wait(
    for numbers: [Int32], _ body: @escaping @Sendable (Int32) -> Void,
    meanwhile: @escaping @Sendable () -> Void
  ) {
    let signals = AwaitedSignals(numbers)
    do throws(FileError) {
      try DedicatedThread.start { [self] in
        while true {
          if let number = signals.next(within: isRequested ? Self.pause : nil) { body(number) }
          meanwhile()
        }
      }
    } catch {
      // Without a thread a signal does what it did before: it ends the program at once.
      return
    }
    signals.holdBack()
  }

  private func take(_ number: Int32) {
    let (isFirst, _) = received.compareExchange(
      expected: 0, desired: number, ordering: .sequentiallyConsistent)
    let now = ContinuousClock().now
    if isFirst { receivedAt.withLock { $0 = now } }
    let first = receivedAt.withLock { $0 } ?? now
    if !isFirst, now - first > Self.echo { endAtOnce() }
    tell()
  }

  /// Ends the program where it stands, as the next run can go on from anywhere; and its workers.
  private func endAtOnce() -> Never {
    ChildProcess.endAll()
    _exit(128 + received.load(ordering: .relaxed))
  }

  /// Whether the configuration is to be read again; answers one request.
  func takeReload() -> Bool { isReloadDue.exchange(false, ordering: .relaxed) }

  private func tell() {
    // Copied first: nothing is called out under a lock.
    let body = listener.withLock { $0.onSignal }
    body?()
  }

  /// Whether the program was asked to stop.
  var isRequested: Bool { received.load(ordering: .relaxed) != 0 }

  /// Whether the program was asked to stop, and that is at least so long ago.
  func isRequested(for time: Duration) -> Bool {
    receivedAt.withLock { $0.map { ContinuousClock().now - $0 >= time } } ?? false
  }

  /// The exit code that says so, or `nil`.
  var exitCode: ExitCode? {
    switch received.load(ordering: .relaxed) {
    case SIGINT: .interrupted
    case SIGTERM: .terminated
    default: nil
    }
  }
}
