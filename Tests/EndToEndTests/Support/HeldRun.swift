import Files
import Fixtures
import Glibc
import PipelineModel
import Testing

/// A `run` that holds the library until a test lets it go on.
///
/// It waits for the end of a file's settle window, which is long, and its clock is put ahead.
final class HeldRun {
  /// The settle window of a source for which it waits.
  static let window: JSONValue = "1h"

  let run: BuiltProgramRun
  private let shimFolder: TemporaryFolder

  /// Starts it and waits until it waits; its source must have a fresh file.
  init(_ workspace: Workspace) throws {
    shimFolder = try TemporaryFolder()
    let shim = try SystemShim(in: shimFolder.path)
    var program = workspace.program
    program.environment.merge(shim.clock(aheadWith: shimFolder.appending("go on"))) { $1 }
    run = try program.start(["run", "--json"])
    try workspace.waitForHolder(run)
    // It serves requests while it waits, and so not before the wait has its end.
    let nothing = try TemporaryFolder()
    let served = try workspace.run("import", nothing.path)
    try #require(served.exitCode == 0 && run.isRunning, "\(served.errors)")
  }

  /// Lets it go on and waits for its end.
  func finish() throws -> BuiltProgramOutcome {
    try #require(run.isRunning)
    let path = shimFolder.appending("go on").description
    let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    close(file)
    return try run.wait(within: 120)
  }
}

extension Workspace {
  /// Waits until a process holds the library and answers requests.
  func waitForHolder(_ run: BuiltProgramRun) throws {
    try run.wait(for: "its control socket", until: isAnswering)
  }

  /// Whether somebody listens: a socket has its name before that.
  private func isAnswering() throws -> Bool {
    guard exists("library/control") else { return false }
    return try LocalSocket.connect(to: "control", in: .openFolder(library)) != nil
  }
}
