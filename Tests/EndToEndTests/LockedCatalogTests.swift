import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// A transaction that somebody's `sqlite3` holds on the catalog.
private struct HeldTransaction {
  private let shell: BuiltProgramRun
  /// A file that is there as long as the transaction goes on.
  private let sign: BytePath

  /// Begins it, and waits until it holds its lock.
  init(_ begin: String, on workspace: Workspace) throws {
    try workspace.write([], to: "held")
    sign = workspace.root.appending("held")
    var sqlite = workspace.program
    sqlite.program = "/usr/bin/sqlite3"
    // The program may be writing at this moment.
    shell = try sqlite.start([
      "-cmd", ".timeout 20000",
      workspace.library.appending("catalog.sqlite"), BytePath(begin),
      ".shell echo held; while [ -e held ]; do sleep 0.02; done", "ROLLBACK;",
    ])
    try shell.wait(for: "the lock") { [shell] in
      String(decoding: shell.outputSoFar, as: UTF8.self).contains("held")
    }
  }

  /// Ends it.
  func end() throws {
    try #require(unlink(sign.description) == 0)
    try #require(try shell.wait(within: 20).exitCode == 0)
  }
}

@Suite(
  "A catalog that another program keeps locked", .timeLimit(.minutes(5)), .about(.catalogFile),
  .enabled(if: access("/usr/bin/sqlite3", X_OK) == 0, "needs sqlite3"))
struct LockedCatalogTests {
  private func filled() throws -> Workspace {
    let workspace = try Workspace()
    try workspace.put("first", as: "a.txt")
    try workspace.json("run")
    try workspace.put("second", as: "b.txt")
    return workspace
  }

  private func waitForWarning(_ run: BuiltProgramRun, _ workspace: Workspace) throws {
    try run.wait(for: "the warning") {
      let errors = String(decoding: run.errorsSoFar, as: UTF8.self)
      return errors.contains("holds a transaction") && errors.contains("\(workspace.library)")
    }
  }

  @Test(
    "run waits for longer than SQLite would, says so once, and does its work",
    arguments: [(["run"], 6), (["import", "inbox/b.txt"], 0)] as [([BytePath], Int)])
  func waits(words: [BytePath], seconds: Int) throws {
    let workspace = try filled()
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    let run = try workspace.program.start(words)
    try waitForWarning(run, workspace)
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end {
      try #require(run.isRunning)
      usleep(100_000)
    }
    try held.end()
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.errors.components(separatedBy: "holds a transaction").count == 2)
    #expect(try workspace.assets().count == 2)
  }

  @Test("watch goes on when the transaction ends")
  func watch() throws {
    let workspace = try filled()
    let run = try workspace.program.start(["watch"])
    try run.wait(for: "b.txt to be taken") { !workspace.exists("inbox/b.txt") }
    let held = try HeldTransaction("BEGIN IMMEDIATE;", on: workspace)
    try workspace.put("third", as: "c.txt")
    try waitForWarning(run, workspace)
    try held.end()
    try run.wait(for: "c.txt to be taken") { !workspace.exists("inbox/c.txt") }
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
    try held.end()
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
    try held.end()
    #expect(try workspace.run("rm", id).exitCode == 0)
  }

  @Test("A reader waits for a program that has the catalog for itself")
  func exclusive() throws {
    let workspace = try filled()
    let held = try HeldTransaction(
      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;", on: workspace)
    let run = try workspace.program.start(["list"])
    try waitForWarning(run, workspace)
    try held.end()
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0 && outcome.output.contains("a.txt"), "\(outcome.errors)")
  }
}
