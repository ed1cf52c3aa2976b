import Configuration
import Dispatch
import PipelineModel
import PipelinePlugin
import PluginHost
import Synchronization

/// A running stage: its queue, and the instances of its plugin.
final class StageRunner: Sendable {
  let plan: StagePlan.Stage
  let queue: DispatchQueue
  private let context: InstanceContext
  private let instances = Mutex(Instances())

  private struct Instances {
    var idle: [any PluginInstance] = []
    var all: [any PluginInstance] = []
  }

  /// Creates a stage without instances; `prepare` adds them.
  ///
  /// - Parameters:
  ///   - work: the library's folder `work/`.
  ///   - budget: the memory that all workers share.
  init(_ plan: StagePlan.Stage, work: BytePath, budget: WorkerMemoryBudget) {
    self.plan = plan
    queue = DispatchQueue(label: "pipeline.stage.\(plan.name)", attributes: .concurrent)
    context = InstanceContext(
      queue: queue, limits: plan.configuration.limits, allowance: plan.configuration.allow,
      memoryShare: plan.memoryShare, budget: budget, work: work)
  }

  /// Ensures an idle instance for each job that may start.
  ///
  /// Called only on the engine's serial queue, so one instance is created at a time.
  ///
  /// - Parameter active: the number of instances in use.
  func prepare(active: Int) throws(PluginFailure) {
    while instances.withLock({ $0.idle.count }) + active < plan.configuration.concurrency {
      let instance = try plan.backend.makeInstance(options: plan.options, context: context)
      instances.withLock { instances in
        instances.idle.append(instance)
        instances.all.append(instance)
      }
    }
  }

  /// Takes an idle instance; there is one for every admitted job. The one used last is the warmest.
  func checkOut() -> (any PluginInstance)? { instances.withLock { $0.idle.popLast() } }

  func checkIn(_ instance: any PluginInstance) { instances.withLock { $0.idle.append(instance) } }

  var isUnused: Bool { instances.withLock { $0.all.isEmpty } }

  /// Prepares instances for their first jobs; returns at once.
  ///
  /// - Parameter count: how many jobs to expect; by default enough for all instances.
  func warmUp(for count: Int = .max) {
    // The instances that `checkOut` returns first.
    for instance in instances.withLock({ $0.idle }).suffix(count) { instance.warmUp() }
  }

  func end(in group: DispatchGroup) {
    for instance in instances.withLock({ $0.all }) {
      group.enter()
      instance.end { group.leave() }
    }
  }

  /// Estimates the bytes that jobs will need; a default if the plugin can't.
  ///
  /// Called only on the engine's serial queue.
  ///
  /// - Parameter completion: called exactly once, on any queue.
  func memory(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int]) -> Void) {
    let instance = instances.withLock { $0.idle.last ?? $0.all.last }
    guard plan.backend.manifest.estimates, let instance else {
      return completion(facts.map { _ in Self.guess })
    }
    instance.estimate(facts: facts) { bytes in
      // A plugin may return any number; clamping keeps sums from overflowing.
      completion(bytes.map { $0.map { min(max($0, 0), Self.most) } ?? Self.guess })
    }
  }

  /// More memory than any machine has, in bytes.
  private static let most = 1 << 48

  /// The bytes assumed for a job if its plugin can't estimate them.
  private static let guess = 16 << 20
}
