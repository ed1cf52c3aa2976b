package import PipelineModel
package import PipelinePlugin

/// A way to reach one plugin: by calling a library, or by talking to a worker.
package protocol Carrier: Sendable {
  /// What the plugin says of itself.
  var manifest: PluginManifest { get }

  /// Makes a lane for one set of options; called from one thread at a time.
  ///
  /// - Throws: `PluginFailure`, of class `environment` where the machine lacks something.
  func makeLane(options: JSONValue) throws(PluginFailure) -> any Lane
}

/// One instance of a plugin, used for one job at a time.
package protocol Lane: Sendable {
  /// Returns how many bytes a job with these facts will need, or `nil` if unknown.
  ///
  /// Quick, and never called while a job is under way on this lane.
  func estimate(facts: [String: JSONValue]) -> Int?

  /// Begins a job; called on the stage's queue.
  ///
  /// - Parameter completion: called exactly once, on any queue, possibly before
  ///   this method returns.
  func process(
    _ request: PluginRequest, job: JobControl,
    completion: @escaping @Sendable (PluginResult) -> Void)
}
