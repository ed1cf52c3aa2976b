package import Configuration
package import Dispatch
package import PipelineModel
package import PipelinePlugin

/// A connection to one plugin: a library that is called, or a worker that exchanges messages.
package protocol PluginBackend: Sendable {
  /// The plugin's description of itself.
  var manifest: PluginManifest { get }

  /// Creates an instance for one set of options; called from one thread at a time.
  ///
  /// - Throws: `PluginFailure`, of class `environment` if the machine lacks something.
  func makeInstance(options: JSONValue, context: InstanceContext) throws(PluginFailure)
    -> any PluginInstance
}

/// The surroundings of an instance.
package struct InstanceContext: Sendable {
  /// The stage's own queue, on which the instance works.
  package var queue: DispatchQueue
  /// The limits for one job.
  package var limits: StageLimits
  /// What the plugin may do besides reading its input and writing its output.
  package var allowance: StageAllowance
  /// The memory limit of a job whose stage sets none.
  package var memoryShare: ByteSize
  /// The memory that all workers share; `nil` for no limit.
  package var budget: WorkerMemoryBudget?
  /// The library's folder `work/`.
  package var work: BytePath

  /// Creates a context from its parts.
  package init(
    queue: DispatchQueue, limits: StageLimits = StageLimits(),
    allowance: StageAllowance = StageAllowance(), memoryShare: ByteSize,
    budget: WorkerMemoryBudget? = nil, work: BytePath
  ) {
    self.queue = queue
    self.limits = limits
    self.allowance = allowance
    self.memoryShare = memoryShare
    self.budget = budget
    self.work = work
  }
}

/// One instance of a plugin, used for one job at a time.
package protocol PluginInstance: Sendable {
  /// Estimates how many bytes jobs with these facts will need.
  ///
  /// - Parameter completion: called exactly once, on any queue, possibly before this method
  ///   returns, with one value per job; `nil` if unknown.
  func estimate(facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void)

  /// Starts a job; called on the stage's queue.
  ///
  /// - Parameters:
  ///   - request: names the original as the input and an empty folder as the output.
  ///   - completion: called exactly once, on any queue, possibly before this method returns, when
  ///     the plugin's output is in that folder.
  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void)

  /// Prepares for the first job, which would otherwise have to wait; returns at once.
  func warmUp()

  /// Ends the instance's worker together with any job it is running.
  ///
  /// - Parameter completion: called exactly once, on any queue, when the worker is gone.
  func end(completion: @escaping @Sendable () -> Void)
}

extension PluginInstance {
  package func warmUp() {}
  package func end(completion: @escaping @Sendable () -> Void) { completion() }
}
