import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A transaction that somebody's `sqlite3` holds on the catalog.
private final class HeldTransaction {
  private let shell = Process()
  private let input = Pipe()

  /// Begins it, and waits until it holds its lock.
  init(_ begin: String, on workspace: Workspace) throws {
    let output = Pipe()
    shell.executableURL = URL(filePath: "/usr/bin/sqlite3")
    shell.arguments = [workspace.library.appending("catalog.sqlite").description]
    shell.standardInput = input
    shell.standardOutput = output
    try shell.run()
    try input.fileHandleForWriting.write(contentsOf: Data("\(begin) SELECT 'held';\n".utf8))
    var seen = Data()
    while !String(decoding: seen, as: UTF8.self).contains("held") {
      let piece = output.fileHandleForReading.availableData
      try #require(!piece.isEmpty, "sqlite3 ended")
      seen += piece
    }
  }

  deinit { end() }

  /// Ends it.
  func end() {
    guard shell.isRunning else { return }
    // The end of its input would not do: the program under test may have a copy of the pipe.
    // Clean-up: where it can't be told it has ended.
    try? input.fileHandleForWriting.write(contentsOf: Data("ROLLBACK;\n.quit\n".utf8))
    shell.waitUntilExit()
  }
}

@Suite(
  "A catalog that another program keeps locked", .timeLimit(.minutes(5)),
  .enabled(if: access("/usr/bin/sqlite3", X_OK) == 0, "needs sqlite3"))
struct CatalogLockTests {
  private func filled() throws -> Workspace {
    let workspace = try Workspace()
    try workspace.put("first", as: "a.txt")
    try workspace.json("run")
    try workspace.put("second", as: "b.txt")
    return workspace
  }

  private func waitForWarning(_ run: BuiltProgramRun, _ workspace: Workspace) throws {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end, run.isRunning {
      let errors = String(decoding: run.errorsSoFar, as: UTF8.self)
      if errors.contains("holds a transaction"), errors.contains("\(workspace.library)") { return }
      usleep(20_000)
    }
    Issue.record("no warning: \(String(decoding: run.errorsSoFar, as: UTF8.self))")
  }

  @Test(
    "run waits for longer than SQLite would, says so once, and does its work",
    arguments: [["run"], ["import", "inbox/b.txt"]] as [[BytePath]])
  func waits(words: [BytePath]) throws {
    let workspace = try filled()
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    let run = try workspace.program.start(words)
    try waitForWarning(run, workspace)
    let end = ContinuousClock.now + .seconds(6)
    while ContinuousClock.now < end {
      try #require(run.isRunning)
      usleep(100_000)
    }
    held.end()
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.errors.components(separatedBy: "holds a transaction").count == 2)
    #expect(try workspace.assets().count == 2)
  }

  @Test("watch goes on when the transaction ends")
  func watch() throws {
    let workspace = try filled()
    let run = try workspace.program.start(["watch"])
    while run.isRunning, workspace.exists("inbox/b.txt") { usleep(20_000) }
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    try workspace.put("third", as: "c.txt")
    try waitForWarning(run, workspace)
    held.end()
    while run.isRunning, workspace.exists("inbox/c.txt") { usleep(20_000) }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 10).exitCode == 143)
    #expect(try workspace.assets().count == 3)
    try workspace.expectSound()
  }

  @Test("A signal ends the wait within 10 s, and nothing is lost", arguments: ["run", "watch"])
  func signal(verb: BytePath) throws {
    let workspace = try filled()
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    let run = try workspace.program.start([verb])
    try waitForWarning(run, workspace)
    run.signal(SIGTERM)
    #expect(try run.wait(within: 10).exitCode == 143)
    held.end()
    #expect(try workspace.run("run").exitCode == 0)
    #expect(try workspace.assets().count == 2)
    try workspace.expectSound()
  }

  @Test("A verb of a moment waits as long as --wait says, then says what is in the way")
  func short() throws {
    let workspace = try filled()
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    let refused = try workspace.run("rm", id, "--wait", "100ms")
    #expect(refused.exitCode == 1 && refused.errors.contains("another program holds"))
    // Readers are not in the way of a writer, nor it in theirs.
    #expect(try workspace.assets().count == 1)
    held.end()
    #expect(try workspace.run("rm", id).exitCode == 0)
  }

  @Test("A reader waits for a program that has the catalog for itself")
  func exclusive() throws {
    let workspace = try filled()
    let held = try HeldTransaction(
      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;", on: workspace)
    let run = try workspace.program.start(["list"])
    try waitForWarning(run, workspace)
    held.end()
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0 && outcome.output.contains("a.txt"), "\(outcome.errors)")
  }
}
