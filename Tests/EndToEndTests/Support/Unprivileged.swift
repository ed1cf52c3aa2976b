import Fixtures
import Foundation
import Glibc
import PipelineModel

/// Running the program as a user whom permissions hold back.
extension Unprivileged {
  /// Whether the program can be run so: its folder must be open to others.
  static let isPossible: Bool = {
    var program = BuiltProgram(in: "/tmp")
    program.prefix = prefix
    return (try? program.run(["--version"]))?.exitCode == 0
  }()

  /// Gives a workspace to that user, and has its program run by them from now on.
  static func handOver(_ workspace: Workspace) throws {
    if geteuid() == 0 { try shell("chown -R \(user):\(user) .", in: workspace) }
    workspace.program.prefix = prefix
  }

  /// Runs a line of shell in a workspace, as the user of the tests.
  static func shell(_ line: String, in workspace: Workspace) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-ec", line]
    shell.currentDirectoryURL = URL(fileURLWithPath: workspace.root.description)
    try shell.run()
    shell.waitUntilExit()
    guard shell.terminationStatus == 0 else { throw POSIXError(.EPERM) }
  }
}
