package import Configuration
package import PipelinePlugin
package import PluginHost

extension StagePlan {
  /// Returns how to start a stage's workers, without asking the plugin for its manifest.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the plugin must not be started.
  package static func program(
    of stage: StageConfiguration, in configuration: PipelineConfiguration, finder: PluginFinder
  ) throws(PluginFailure) -> WorkerProgram {
    try StagePlugins.program(of: stage, finder: finder, secrets: PluginSecrets(configuration))
  }
}
