import Configuration
import Dispatch
import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
import Sandbox

/// A plugin, library or program, that runs in sandboxed processes of its own.
package final class WorkerBackend: PluginBackend {
  package let manifest: PluginManifest
  private let program: WorkerProgram
  /// Whether a worker can't write to what it may read, so that originals need not be copied.
  let isReadOnlyEnforced: Bool

  /// Reads the manifest from a worker; waits for the answer.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the plugin does not suit this machine, and
  ///   `permanent` if it is not a valid plugin.
  package convenience init(_ program: WorkerProgram) throws(PluginFailure) {
    self.init(program, manifest: try ManifestQuery(program).manifest())
  }

  /// Creates a backend for a known manifest.
  package init(_ program: WorkerProgram, manifest: PluginManifest) {
    self.program = program
    self.manifest = manifest
    let support = SandboxSupport.probe()
    // Without Landlock, root can write to files whose permissions forbid it.
    isReadOnlyEnforced = support.landlockABI > 0 || support.seccomp && geteuid() != 0
  }

  package func makeInstance(
    options: JSONValue, context: InstanceContext
  ) throws(PluginFailure) -> any PluginInstance {
    WorkerInstance(self, program: program, options: options, context: context)
  }
}
