import Catalog
import PipelineModel
import PipelinePlugin
import PluginHost

/// Stands for a plugin that can't be used, so that its stage is known and its jobs wait.
struct BrokenCarrier: Carrier {
  let manifest: PluginManifest
  /// The stage as it was when the plugin worked last; `nil` for never.
  let recorded: StageDefinition?
  /// Why it can't be used.
  let failure: PluginFailure

  init(plugin: String, recorded: StageDefinition?, failure: PluginFailure) {
    // Versions of real plugins begin with 1, so no other plugin's work is taken for this one's.
    manifest = PluginManifest(
      id: plugin, version: "", outputVersion: 0,
      scope: recorded?.isAssetScoped == true ? .asset : .original, options: ["type": "object"],
      accepts: recorded?.accepts)
    self.recorded = recorded
    self.failure = failure
  }

  func makeLane(options: JSONValue, site: LaneSite) throws(PluginFailure) -> any Lane {
    throw failure
  }
}
