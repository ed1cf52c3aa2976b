import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization

/// A stage at work: its queue, and the instances of its plugin.
final class StageLanes: Sendable {
  let plan: StagePlan.Stage
  let queue: DispatchQueue
  private let site: LaneSite
  private let lanes = Mutex(Lanes())

  private struct Lanes {
    var idle: [any Lane] = []
    var all: [any Lane] = []
  }

  /// Makes a stage at work; its lanes come with its first jobs.
  ///
  /// - Parameters:
  ///   - work: the library's folder `work/`.
  ///   - pool: what all workers may use together.
  init(_ plan: StagePlan.Stage, work: BytePath, pool: MemoryPool) {
    self.plan = plan
    queue = DispatchQueue(label: "pipeline.stage.\(plan.name)", attributes: .concurrent)
    site = LaneSite(
      queue: queue, limits: plan.configuration.limits, allowance: plan.configuration.allow,
      memoryShare: plan.memoryShare, pool: pool, work: work)
  }

  /// Makes sure that a lane is idle for each job that may begin.
  ///
  /// Called on the scheduler's queue only, so one instance is made at a time.
  ///
  /// - Parameter active: how many lanes are in use.
  func prepare(active: Int) throws(PluginFailure) {
    while lanes.withLock({ $0.idle.count }) + active < plan.configuration.concurrency {
      let lane = try plan.carrier.makeLane(options: plan.options, site: site)
      lanes.withLock { lanes in
        lanes.idle.append(lane)
        lanes.all.append(lane)
      }
    }
  }

  /// Takes an idle lane; there is one for every admitted job. The one that was used
  /// last is the warmest.
  func take() -> (any Lane)? { lanes.withLock { $0.idle.popLast() } }

  /// Gives a lane back.
  func giveBack(_ lane: any Lane) { lanes.withLock { $0.idle.append(lane) } }

  /// Whether no lane was made yet.
  var isUnused: Bool { lanes.withLock { $0.all.isEmpty } }

  /// Gets lanes ready for their first jobs; returns at once.
  ///
  /// - Parameter count: how many jobs are to be expected; by default enough for all lanes.
  func warmUp(for count: Int = .max) {
    // Those that are taken first.
    for lane in lanes.withLock({ $0.idle }).suffix(count) { lane.warmUp() }
  }

  /// Ends what the lanes keep running.
  func end(in group: DispatchGroup) {
    for lane in lanes.withLock({ $0.all }) {
      group.enter()
      lane.end { group.leave() }
    }
  }

  /// Asks for the bytes that jobs will need; a guess where the plugin has none.
  ///
  /// Called on the scheduler's queue only.
  ///
  /// - Parameter completion: called exactly once, on any queue.
  func memory(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int]) -> Void) {
    let lane = lanes.withLock { $0.idle.last ?? $0.all.last }
    guard plan.carrier.manifest.estimates, let lane else {
      return completion(facts.map { _ in Self.guess })
    }
    lane.estimate(facts: facts) { bytes in
      // A plugin's figure may be anything; sums of these can't overflow.
      completion(bytes.map { $0.map { min(max($0, 0), Self.most) } ?? Self.guess })
    }
  }

  /// More memory than any machine has, in bytes.
  private static let most = 1 << 48

  /// What a job is taken to need if its plugin can't say.
  private static let guess = 16 << 20
}
