import Fixtures
import Foundation
import PipelineModel

/// The built program on a terminal that script(1) gives it.
enum Terminal {
  static let isPossible = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")
  static let reason = "script(1), which gives a program a terminal, is not here."

  /// Runs a command line of the program; what it prints is its output, escapes and all.
  static func run(
    _ words: String, typing answer: String = "", in workspace: Workspace
  ) throws -> BuiltProgramOutcome {
    var program = workspace.program
    program.prefix = [
      "/bin/sh", "-c",
      "printf '%s\\n' '\(answer)' | TERM=xterm script -qefc \"'$1' \(words)\" /dev/null", "sh",
    ]
    return try program.run([])
  }
}
