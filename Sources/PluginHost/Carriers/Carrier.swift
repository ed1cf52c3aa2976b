package import Configuration
package import Dispatch
package import PipelineModel
package import PipelinePlugin

/// A way to reach one plugin: by calling a library, or by talking to a worker.
package protocol Carrier: Sendable {
  /// What the plugin says of itself.
  var manifest: PluginManifest { get }

  /// Makes a lane for one set of options; called from one thread at a time.
  ///
  /// - Throws: `PluginFailure`, of class `environment` where the machine lacks something.
  func makeLane(options: JSONValue, site: LaneSite) throws(PluginFailure) -> any Lane
}

/// What a lane finds where it is made.
package struct LaneSite: Sendable {
  /// The stage's own queue; a lane's work happens on it.
  package var queue: DispatchQueue
  /// What one job may use.
  package var limits: StageLimits
  /// What the plugin may do beyond reading its input and writing its output.
  package var allowance: StageAllowance
  /// The most memory of a job whose stage has no limit of its own.
  package var memoryShare: ByteSize
  /// What all workers may use together; `nil` for no bound.
  package var pool: MemoryPool?
  /// The library's folder `work/`.
  package var work: BytePath

  /// Makes it from its parts.
  package init(
    queue: DispatchQueue, limits: StageLimits = StageLimits(),
    allowance: StageAllowance = StageAllowance(), memoryShare: ByteSize, pool: MemoryPool? = nil,
    work: BytePath
  ) {
    self.queue = queue
    self.limits = limits
    self.allowance = allowance
    self.memoryShare = memoryShare
    self.pool = pool
    self.work = work
  }
}

/// One instance of a plugin, used for one job at a time.
package protocol Lane: Sendable {
  /// Asks how many bytes jobs with these facts will need.
  ///
  /// - Parameter completion: called exactly once, on any queue, possibly before this
  ///   method returns, with one answer for each; `nil` where it is unknown.
  func estimate(
    facts: [[String: JSONValue]], completion: @escaping @Sendable ([Int?]) -> Void)

  /// Begins a job; called on the stage's queue.
  ///
  /// - Parameters:
  ///   - request: names the original as the input, and an empty folder as the output.
  ///   - completion: called exactly once, on any queue, possibly before this method
  ///     returns, once what the plugin made is in that folder.
  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void)

  /// Gets ready for a first job, which else waits for that; returns at once.
  func warmUp()

  /// Ends what the lane keeps running, a job under way with it.
  ///
  /// - Parameter completion: called exactly once, on any queue, when that is gone.
  func end(completion: @escaping @Sendable () -> Void)
}

extension Lane {
  package func warmUp() {}
  package func end(completion: @escaping @Sendable () -> Void) { completion() }
}
