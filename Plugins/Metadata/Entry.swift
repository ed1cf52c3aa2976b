public import CPipelinePlugin
import PipelinePlugin

/// The function that this library exports.
@c(pipeline_plugin_v1)
public func pipelinePlugin(
  _ host: UnsafePointer<pipeline_host>?
) -> UnsafePointer<pipeline_plugin>? {
  exportPlugin(MetadataPlugin.self, to: host)
}
