package import PipelinePlugin
import Synchronization

/// Carries cancellation, progress and log lines between host and plugin during a job.
package final class JobControl: Sendable {
  private let cancelled = Atomic(false)
  private let givenUp = Atomic(false)
  private struct Listener {
    var onCancel: (@Sendable () -> Void)?
  }
  // A struct, because a closure stored directly in the mutex is wrapped again on each access.
  // Source: github.com/swiftlang/swift/issues/91348.
  private let listener = Mutex(Listener())
  private let log: @Sendable (PluginHost.LogLevel, String) -> Void
  private let progress: @Sendable (Double) -> Void

  /// Creates the control of one job.
  ///
  /// - Parameters:
  ///   - log: receives the plugin's log lines, on any thread.
  ///   - progress: receives the completed fraction, from 0 to 1, on any thread.
  package init(
    log: @escaping @Sendable (PluginHost.LogLevel, String) -> Void = { _, _ in },
    progress: @escaping @Sendable (Double) -> Void = { _ in }
  ) {
    self.log = log
    self.progress = progress
  }

  /// Whether the plugin was asked to stop.
  package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  /// Whether the reason is that the program is ending, so the job itself is not at fault.
  package var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

  /// Asks the plugin to stop.
  package func cancel() {
    guard !cancelled.exchange(true, ordering: .relaxed) else { return }
    // Called after the lock is released.
    let tell = listener.withLock { $0.onCancel }
    tell?()
  }

  /// Asks the plugin to stop because the program is ending.
  package func giveUp() {
    givenUp.store(true, ordering: .relaxed)
    cancel()
  }

  /// Sets the body to call, once, when the job is cancelled.
  package func onCancel(_ body: @escaping @Sendable () -> Void) {
    listener.withLock { $0.onCancel = body }
    if isCancelled { body() }
  }

  /// Receives the plugin's progress; ignores values outside 0...1.
  package func report(_ fraction: Double) {
    if fraction >= 0, fraction <= 1 { progress(fraction) }
  }

  /// Receives a line of the plugin's log.
  package func write(_ level: PluginHost.LogLevel, _ message: String) { log(level, message) }
}
