import Foundation
package import PipelineModel

/// The program as built, started as a user or a script starts it.
package struct BuiltProgram: Sendable {
  /// The folder that it is started in.
  package var folder: BytePath
  /// What it finds in its environment; nothing of the test's own gets in but the search paths.
  package var environment: [String: String]
  /// Words before the program's path, such as those of `setpriv`.
  package var prefix: [String] = []
  /// Another program of the same build; by default the one that users start.
  package var program = Self.path
  /// A descriptor for its standard output; by default one that the outcome is read from.
  package var output: Int32?

  /// Makes a way to start it in a folder.
  package init(in folder: BytePath) {
    self.folder = folder
    environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"]
    let inherited = ProcessInfo.processInfo.environment
    environment["LD_LIBRARY_PATH"] = inherited["LD_LIBRARY_PATH"]
  }

  /// The executable, beside the running test program.
  package static let path: BytePath = {
    let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    return BytePath(own.deletingLastPathComponent().path).appending("pipeline")
  }()

  /// Starts it without waiting for its end.
  package func start(_ words: [BytePath]) throws -> BuiltProgramRun {
    let line = prefix.map { BytePath($0) } + [program] + words
    return try BuiltProgramRun(line, in: folder, environment: environment, output: output)
  }

  /// Runs it and returns what came of it.
  ///
  /// - Parameter seconds: after this many it is killed, and an error thrown.
  package func run(
    _ words: [BytePath], within seconds: Double = 60
  ) throws -> BuiltProgramOutcome {
    try start(words).wait(within: seconds)
  }
}
