import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization

/// A running stage: its queue, and the instances of its plugin.
final class StageLanes: Sendable {
  let plan: StagePlan.Stage
  let queue: DispatchQueue
  private let site: LaneSite
  private let lanes = Mutex(Lanes())

  private struct Lanes {
    var idle: [any Lane] = []
    var all: [any Lane] = []
  }

  /// Creates a stage without lanes; `prepare` adds them.
  ///
  /// - Parameters:
  ///   - work: the library's folder `work/`.
  ///   - pool: the memory that all workers share.
  init(_ plan: StagePlan.Stage, work: BytePath, pool: MemoryPool) {
    self.plan = plan
    queue = DispatchQueue(label: "pipeline.stage.\(plan.name)", attributes: .concurrent)
    site = LaneSite(
      queue: queue, limits: plan.configuration.limits, allowance: plan.configuration.allow,
      memoryShare: plan.memoryShare, pool: pool, work: work)
  }

  /// Ensures an idle lane for each job that may start.
  ///
  /// Called only on the engine's serial queue, so one instance is created at a time.
  ///
  /// - Parameter active: the number of lanes in use.
  func prepare(active: Int) throws(PluginFailure) {
    while lanes.withLock({ $0.idle.count }) + active < plan.configuration.concurrency {
      let lane = try plan.carrier.makeLane(options: plan.options, site: site)
      lanes.withLock { lanes in
        lanes.idle.append(lane)
        lanes.all.append(lane)
      }
    }
  }

  /// Takes an idle lane; there is one for every admitted job. The one used last is the warmest.
  func take() -> (any Lane)? { lanes.withLock { $0.idle.popLast() } }

  func giveBack(_ lane: any Lane) { lanes.withLock { $0.idle.append(lane) } }

  var isUnused: Bool { lanes.withLock { $0.all.isEmpty } }

  /// Prepares lanes for their first jobs; returns at once.
  ///
  /// - Parameter count: how many jobs to expect; by default enough for all lanes.
  func warmUp(for count: Int = .max) {
    // The lanes that `take` returns first.
    for lane in lanes.withLock({ $0.idle }).suffix(count) { lane.warmUp() }
  }

  func end(in group: DispatchGroup) {
    for lane in lanes.withLock({ $0.all }) {
      group.enter()
      lane.end { group.leave() }
    }
  }

  /// Estimates the bytes that jobs will need; a default if the plugin can't.
  ///
  /// Called only on the engine's serial queue.
  ///
  /// - Parameter completion: called exactly once, on any queue.
  func memory(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int]) -> Void) {
    let lane = lanes.withLock { $0.idle.last ?? $0.all.last }
    guard plan.carrier.manifest.estimates, let lane else {
      return completion(facts.map { _ in Self.guess })
    }
    lane.estimate(facts: facts) { bytes in
      // A plugin may return any number; clamping keeps sums from overflowing.
      completion(bytes.map { $0.map { min(max($0, 0), Self.most) } ?? Self.guess })
    }
  }

  /// More memory than any machine has, in bytes.
  private static let most = 1 << 48

  /// The bytes assumed for a job if its plugin can't estimate them.
  private static let guess = 16 << 20
}
