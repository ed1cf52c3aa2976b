package import PipelinePlugin
import Synchronization

/// What host and plugin say to each other while a job is under way.
package final class JobControl: Sendable {
  private let cancelled = Atomic(false)
  private let thousandths = Atomic(0)
  private let log: @Sendable (PluginHost.LogLevel, String) -> Void

  /// Makes the control of one job.
  ///
  /// - Parameter log: receives the plugin's log lines, on the thread that the plugin runs on.
  package init(log: @escaping @Sendable (PluginHost.LogLevel, String) -> Void = { _, _ in }) {
    self.log = log
  }

  /// Whether the plugin was asked to give up.
  package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  /// Asks the plugin to give up.
  package func cancel() { cancelled.store(true, ordering: .relaxed) }

  /// How much of the job the plugin says is done, from 0 to 1, in thousandths.
  package var progress: Double { Double(thousandths.load(ordering: .relaxed)) / 1000 }

  /// Takes the plugin's word for how much is done; nonsense is ignored.
  package func report(_ fraction: Double) {
    guard fraction >= 0, fraction <= 1 else { return }
    thousandths.store(Int(fraction * 1000), ordering: .relaxed)
  }

  /// Takes a line of the plugin's log.
  package func write(_ level: PluginHost.LogLevel, _ message: String) { log(level, message) }
}
