import Dispatch
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
    /// Told on a queue of Dispatch when a signal came.
    var onSignal: (@Sendable () -> Void)?
  }
  // Within a struct: see `RunReport`.
  private let listener = Mutex(Listener())
  /// A second signal within this time is the first one again: timeout(1) sends
  /// one to the program and one to its process group.
  private static let echo = Duration.milliseconds(500)

  static let shared = Interruption()

  /// Begins to listen for SIGINT and SIGTERM. Until then, and in verbs that don't
  /// take files or run jobs, a signal ends the program at once.
  func listen() {
    for number in [SIGINT, SIGTERM] {
      // The default action must be off for the source to get the signal.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(
        signal: number, queue: DispatchQueue.global())
      source.setEventHandler { [self] in
        let (isFirst, _) = received.compareExchange(
          expected: 0, desired: number, ordering: .sequentiallyConsistent)
        let now = ContinuousClock().now
        if isFirst { receivedAt.withLock { $0 = now } }
        let first = receivedAt.withLock { $0 } ?? now
        if !isFirst, now - first > Self.echo { _exit(128 + number) }
        tell()
      }
      source.resume()
      Self.sources.withLock { $0.append(UncheckedSource(source)) }
    }
  }

  /// Begins to listen for SIGHUP, too, which else ends the program.
  ///
  /// - Parameter onSignal: told of each signal from now on, on a queue of Dispatch.
  func listenForReload(onSignal: @escaping @Sendable () -> Void) {
    listener.withLock { $0.onSignal = onSignal }
    signal(SIGHUP, SIG_IGN)
    let source = DispatchSource.makeSignalSource(
      signal: SIGHUP, queue: DispatchQueue.global())
    source.setEventHandler { [self] in
      isReloadDue.store(true, ordering: .relaxed)
      tell()
    }
    source.resume()
    Self.sources.withLock { $0.append(UncheckedSource(source)) }
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

  /// Keeps the sources alive.
  private struct UncheckedSource: @unchecked Sendable {
    // @unchecked because it is only kept, never used again.
    let source: any DispatchSourceSignal
    init(_ source: any DispatchSourceSignal) { self.source = source }
  }

  private static let sources = Mutex<[UncheckedSource]>([])
}
