import Configuration
import Dispatch
import Engine
import Ingest
import PluginHost
import Synchronization

/// Asks plugins again that could not be used, for a program that has no end of its own.
final class PluginRecheck: Sendable {
  private struct State {
    var isAsking = false
    var hasMended = false
  }

  private let state = Mutex(State())
  private let configuration: PipelineConfiguration
  private let plan: StagePlan
  private let wakeup: Wakeup

  /// - Parameter wakeup: woken once a plugin can be used.
  init(_ plan: StagePlan, _ configuration: PipelineConfiguration, wakeup: Wakeup) {
    self.plan = plan
    self.configuration = configuration
    self.wakeup = wakeup
  }

  /// Whether a plugin that could not be used can be by now, so that another plan is due.
  func takeMended() -> Bool {
    state.withLock { state in
      defer { state.hasMended = false }
      return state.hasMended
    }
  }

  /// Asks those that could not be used; returns at once, because some may not answer for long.
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
