import Configuration
import Dispatch
import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
import Sandbox

/// A plugin that works in processes of its own, behind a sandbox: a library or a program.
package final class WorkerCarrier: Carrier {
  package let manifest: PluginManifest
  private let program: WorkerProgram
  /// Whether a worker can't write to what it may read, so that originals need no copy.
  let isReadOnlyEnforced: Bool

  /// Asks a plugin in a worker what it is; waits for the answer.
  ///
  /// - Throws: `PluginFailure` of class `environment` where plugin and machine
  ///   don't fit, and `permanent` where the plugin is not one.
  package convenience init(_ program: WorkerProgram) throws(PluginFailure) {
    self.init(program, manifest: try WorkerDescription(program).manifest())
  }

  /// Makes a carrier of a plugin that has said what it is.
  package init(_ program: WorkerProgram, manifest: PluginManifest) {
    self.program = program
    self.manifest = manifest
    let support = SandboxSupport.probe()
    // Without Landlock a root may write to a file that nobody may write to.
    isReadOnlyEnforced = support.landlockABI > 0 || support.seccomp && geteuid() != 0
  }

  package func makeLane(
    options: JSONValue, site: LaneSite
  ) throws(PluginFailure) -> any Lane {
    WorkerLane(self, program: program, options: options, site: site)
  }
}
