public import PipelineModel

/// One kind of work on an original, written in Swift.
///
/// A plugin is a small type, its options, and one exported function:
///
/// ```swift
/// import CPipelinePlugin
/// import PipelinePlugin
///
/// @c(pipeline_plugin_v1)
/// public func pipelinePlugin(
///   _ host: UnsafePointer<pipeline_host>?
/// ) -> UnsafePointer<pipeline_plugin>? {
///   exportPlugin(MyPlugin.self, to: host)
/// }
/// ```
///
/// The program creates one instance per lane and never calls an instance from two threads at once;
/// different instances run concurrently.
public protocol Plugin: SendableMetatype {
  /// The options of one stage, decoded from its `options` with defaults filled in.
  associatedtype Options: Decodable

  /// The plugin's description; read before any instance exists.
  static var manifest: PluginManifest { get }

  /// Creates an instance for one set of options.
  init(options: Options) throws(PluginFailure)

  /// Returns how many bytes `process` will need for a picture with these facts, or `nil`, the
  /// default, if that is unknown.
  ///
  /// - Parameter facts: the facts of needed stages, by stage name.
  func estimate(facts: [String: JSONValue]) -> Int?

  /// Runs one job.
  ///
  /// - Throws: `PluginFailure`, whose class decides whether to retry.
  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult
}

extension Plugin {
  public func estimate(facts: [String: JSONValue]) -> Int? { nil }
}
