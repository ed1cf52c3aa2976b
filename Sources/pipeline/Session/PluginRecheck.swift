import Configuration
import Dispatch
import Engine
import Ingest
import PluginHost
import Synchronization

/// Rechecks unusable plugins while `watch` runs.
final class PluginRecheck: Sendable {
  private struct State {
    var isAsking = false
    var hasMended = false
  }

  private let state = Mutex(State())
  private let configuration: PipelineConfiguration
  private let plan: StagePlan
  private let wakeup: Wakeup

  /// - Parameter wakeup: woken when a plugin has become usable.
  init(_ plan: StagePlan, _ configuration: PipelineConfiguration, wakeup: Wakeup) {
    self.plan = plan
    self.configuration = configuration
    self.wakeup = wakeup
  }

  /// Whether an unusable plugin has become usable, so that a new plan is due; resets the flag.
  func consumeMended() -> Bool {
    state.withLock { state in
      defer { state.hasMended = false }
      return state.hasMended
    }
  }

  /// Rechecks unusable plugins; returns at once, because some may take long to answer.
  func begin() {
    guard plan.stages.contains(where: { $0.fault != nil }) else { return }
    let isFirst = state.withLock { state in
      defer { state.isAsking = true }
      return !state.isAsking
    }
    guard isFirst else { return }
    DispatchQueue.global().async { [self] in
      let isMended = plan.isMended(
        configuration, finder: PluginFinder(configured: configuration.plugins))
      state.withLock { $0 = State(isAsking: false, hasMended: isMended) }
      if isMended { wakeup.wake() }
    }
  }
}
