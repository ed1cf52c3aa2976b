package import PipelinePlugin
import Synchronization

/// What host and plugin say to each other while a job is under way.
package final class JobControl: Sendable {
  private let cancelled = Atomic(false)
  private let givenUp = Atomic(false)
  private struct Listener {
    var onCancel: (@Sendable () -> Void)?
  }
  // Within a struct: a function that is itself what the lock holds is wrapped once more by each
  // look at it. Source: github.com/swiftlang/swift/issues/91348.
  private let listener = Mutex(Listener())
  private let log: @Sendable (PluginHost.LogLevel, String) -> Void
  private let progress: @Sendable (Double) -> Void

  /// Makes the control of one job.
  ///
  /// - Parameters:
  ///   - log: receives the plugin's log lines, on any thread.
  ///   - progress: receives how much is done, from 0 to 1, on any thread.
  package init(
    log: @escaping @Sendable (PluginHost.LogLevel, String) -> Void = { _, _ in },
    progress: @escaping @Sendable (Double) -> Void = { _ in }
  ) {
    self.log = log
    self.progress = progress
  }

  /// Whether the plugin was asked to give up.
  package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  /// Whether it was asked because the program ends, so that nothing is wrong with the job.
  package var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

  /// Asks the plugin to give up.
  package func cancel() {
    guard !cancelled.exchange(true, ordering: .relaxed) else { return }
    // Called out after the lock is released.
    let tell = listener.withLock { $0.onCancel }
    tell?()
  }

  /// Asks the plugin to give up because the program ends.
  package func giveUp() {
    givenUp.store(true, ordering: .relaxed)
    cancel()
  }

  /// Sets who is told, once, that the plugin is to give up.
  package func onCancel(_ body: @escaping @Sendable () -> Void) {
    listener.withLock { $0.onCancel = body }
    if isCancelled { body() }
  }

  /// Takes the plugin's word for how much is done; nonsense is ignored.
  package func report(_ fraction: Double) {
    if fraction >= 0, fraction <= 1 { progress(fraction) }
  }

  /// Takes a line of the plugin's log.
  package func write(_ level: PluginHost.LogLevel, _ message: String) { log(level, message) }
}
