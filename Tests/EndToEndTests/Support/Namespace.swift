import Fixtures
import Foundation
import PipelineModel
import Testing

/// Runs the program where file systems can be mounted that nobody else sees.
enum Namespace {
  /// Whether the kernel lets this user have mounts of their own.
  static let isPossible: Bool = {
    var program = BuiltProgram(in: "/tmp")
    program.prefix = prefix("mount -t tmpfs none /mnt && exec \"$1\" --version")
    return (try? program.run([]))?.exitCode == 0
  }()

  static let reason: Comment = "Mounts of one's own (unshare -Urm) are not allowed here."

  private static func prefix(_ script: String) -> [String] {
    ["unshare", "-Urm", "--", "/bin/sh", "-eu", "-c", script, "sh"]
  }

  /// Runs a script in a workspace, with the program as `$1`.
  static func run(_ script: String, in workspace: Workspace) throws -> BuiltProgramOutcome {
    var program = workspace.program
    program.prefix = prefix(script)
    return try program.run([])
  }
}
