import Fixtures
import PipelineModel

/// `Tests/C/hostile.c`, a plugin that does the worst it can: what, the file that it is given says.
enum HostilePlugin {
  /// Puts it into the workspace's `plugins/`, as a library.
  static func makeLibrary(in workspace: Workspace) throws {
    try workspace.makeFolder("plugins")
    // As it is written, an optimizer would remove some of its deeds.
    let library = try CompiledC.library("hostile", options: ["-w", "-O0", "-pthread"])
    try workspace.write(library.bytes, to: "plugins/libpipeline-hostile.so")
  }
}
