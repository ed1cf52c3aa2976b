import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import Synchronization

/// A stage at work: its queue, and the instances of its plugin.
final class StageLanes: Sendable {
  let plan: StagePlan.Stage
  let queue: DispatchQueue
  private let idle = Mutex<[any Lane]>([])
  /// Answers questions about memory while the others work; made when first needed.
  private let estimator = Mutex<(any Lane)?>(nil)

  init(_ plan: StagePlan.Stage) {
    self.plan = plan
    queue = DispatchQueue(label: "pipeline.stage.\(plan.name)", attributes: .concurrent)
  }

  /// Makes sure that a lane is idle for each job that may begin.
  ///
  /// Called on the scheduler's queue only, so one instance is made at a time.
  ///
  /// - Parameter active: how many lanes are in use.
  func prepare(active: Int) throws(PluginFailure) {
    while idle.withLock({ $0.count }) + active < plan.configuration.concurrency {
      let lane = try plan.carrier.makeLane(options: plan.options)
      idle.withLock { $0.append(lane) }
    }
  }

  /// Takes an idle lane; there is one for every admitted job.
  func take() -> (any Lane)? { idle.withLock { $0.popLast() } }

  /// Gives a lane back.
  func giveBack(_ lane: any Lane) { idle.withLock { $0.append(lane) } }

  /// Returns the bytes that a job will need, or a guess where the plugin has none.
  ///
  /// Called on the scheduler's queue only.
  func memory(facts: [String: JSONValue]) throws(PluginFailure) -> Int {
    guard plan.carrier.manifest.estimates else { return Self.guess }
    let lane: any Lane
    if let made = estimator.withLock({ $0 }) {
      lane = made
    } else {
      lane = try plan.carrier.makeLane(options: plan.options)
      estimator.withLock { $0 = lane }
    }
    return lane.estimate(facts: facts) ?? Self.guess
  }

  /// What a job is taken to need if its plugin can't say.
  private static let guess = 16 << 20
}
