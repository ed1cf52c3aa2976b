import Fixtures
import PipelineModel
import Testing

/// What only an unprivileged user meets: root passes every permission.
@Suite(
  "Permissions", .timeLimit(.minutes(10)),
  .enabled(
    if: Unprivileged.isPossible,
    "Neither run as an ordinary user, nor may setpriv run the program as one."))
struct PermissionTests {
  @Test("In a library that can't be written readers work, and a run gives one error")
  func readOnly() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 140, height: 100), as: "a.jpg")
    try Unprivileged.handOver(workspace)
    try workspace.json("run")
    try workspace.put("later", as: "later.txt")
    try Unprivileged.shell("chmod -R a-w library", in: workspace)
    let asset = try workspace.asset(named: "a.jpg")
    #expect(try workspace.rendition("grid", of: asset).width == 64)
    let id = BytePath(try #require(asset["id"]?.string))
    for words: [BytePath] in [
      ["list"], ["show", id], ["get", id], ["status"], ["verify"], ["failed"], ["explain", id],
    ] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 0 && outcome.errors == "", "\(words[0]): \(outcome.errors)")
    }
    let run = try workspace.run("run")
    #expect(run.exitCode == 1 && run.output == "")
    #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    #expect(run.errors.contains(workspace.library.description))
    #expect(try workspace.files(below: "inbox") == ["later.txt"])
    try Unprivileged.shell("chmod -R u+w library", in: workspace)
    try workspace.json("run")
    if workspace.bucket == nil {
      try Unprivileged.shell("chmod -R a-w library/originals/*/*", in: workspace)
    }
    try workspace.expectSound()
  }

  @Test("A file that can't be read is reported, the others are done")
  func unreadable() throws {
    let workspace = try Workspace()
    try workspace.put("secret", as: "secret.txt")
    try workspace.put("open", as: "open.txt")
    try workspace.makeFolder(workspace.inbox.appending("closed"))
    try workspace.put("inner", as: "closed/inner.txt")
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell("chmod 0 inbox/secret.txt inbox/closed", in: workspace)
    let events = try workspace.json("run", exit: 3)
    workspace.expectCountersAddUp(events)
    #expect(events.outcome("secret.txt") == "failed" && events.outcome("open.txt") == "imported")
    #expect(events.summary["failed"] == 2 && events.summary["imported"] == 1)
    let explained = try workspace.json("explain", "inbox/secret.txt").of("path").first
    #expect(explained?["state"] == "failed")
    #expect(explained?["reason"]?.string?.contains("ermission") == true)
    // Tried again in vain, it is told again.
    #expect(try workspace.json("run", exit: 3).outcome("secret.txt") == "failed")
    // Named, it is told as well.
    #expect(try workspace.json("import", "inbox/closed", exit: 3).outcome("closed") == "failed")
    try Unprivileged.shell("chmod 700 inbox/secret.txt inbox/closed", in: workspace)
    #expect(try workspace.json("run").summary["imported"] == 2)
    try workspace.expectSound()
  }

  @Test("A file of somebody else, or one that can't be removed, is copied")
  func notOurs() throws {
    let workspace = try Workspace()
    try workspace.put("stays", as: "stays.txt")
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell("chmod 555 inbox", in: workspace)
    let outcome = try workspace.run("run")
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome.errors)")
    #expect(outcome.errors.contains("can't be removed") || outcome.errors.contains("Can't remove"))
    #expect(workspace.exists("inbox/stays.txt"))
    #expect(try workspace.assets().count == 1)
    #expect(try workspace.json("run").of("file") == [])
    try workspace.expectSound()
  }
}
