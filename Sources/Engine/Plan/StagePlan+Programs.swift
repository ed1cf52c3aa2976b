package import Configuration
package import PipelinePlugin
import PluginHost

extension StagePlan {
  /// How workers of one stage are started, whether or not they are what the stage wants.
  ///
  /// - Throws: `PluginFailure` of class `environment` where the plugin may not be started.
  package static func program(
    of stage: StageConfiguration, in configuration: PipelineConfiguration, finder: PluginFinder
  ) throws(PluginFailure) -> WorkerProgram {
    try StagePlugins.program(of: stage, finder: finder, secrets: PluginSecrets(configuration))
  }
}
