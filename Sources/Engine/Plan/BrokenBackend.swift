import Catalog
import PipelineModel
import PipelinePlugin
import PluginHost

/// Stands in for an unusable plugin, so that its stage stays in the plan and its jobs wait.
struct BrokenBackend: PluginBackend {
  let manifest: PluginManifest
  /// The stage as recorded when the plugin last worked; `nil` if it never did.
  let recorded: StageDefinition?
  /// Why the plugin is unusable.
  let failure: PluginFailure

  init(plugin: String, recorded: StageDefinition?, failure: PluginFailure) {
    // Real output versions start at 1, so this one never matches another plugin's work.
    manifest = PluginManifest(
      id: plugin, version: "", outputVersion: 0,
      scope: recorded?.isAssetScoped == true ? .asset : .original, options: ["type": "object"],
      accepts: recorded?.accepts)
    self.recorded = recorded
    self.failure = failure
  }

  func makeInstance(options: JSONValue, context: InstanceContext) throws(PluginFailure)
    -> any PluginInstance
  {
    throw failure
  }
}
