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
/// The program makes one instance a lane, and never calls an instance from two
/// threads at a time; different instances run side by side.
public protocol Plugin: SendableMetatype {
  /// The options of one stage, decoded from its `options` with defaults filled in.
  associatedtype Options: Decodable

  /// What the plugin is, before any instance exists.
  static var manifest: PluginManifest { get }

  /// Makes an instance for one set of options.
  init(options: Options) throws(PluginFailure)

  /// Returns how many bytes `process` will need for a picture with these facts,
  /// or `nil` if that is unknown, which is the default.
  ///
  /// - Parameter facts: the facts of needed stages, by stage name.
  func estimate(facts: [String: JSONValue]) -> Int?

  /// Does the work of one job.
  ///
  /// - Throws: `PluginFailure`, whose class decides about trying again.
  func process(_ request: PluginRequest, host: PluginHost) throws(PluginFailure) -> PluginResult
}

extension Plugin {
  public func estimate(facts: [String: JSONValue]) -> Int? { nil }
}
