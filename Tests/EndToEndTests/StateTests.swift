import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// One state for every path, and counts that add up to what is on disk.
@Suite("States of paths", .timeLimit(.minutes(5)))
struct StateTests {
  private func explain(_ workspace: Workspace, _ path: BytePath) throws -> JSONValue {
    let events = try workspace.json("explain", path).of("path")
    #expect(events.count == 1, "\(path.printable)")
    return try #require(events.first)
  }

  private static func source(_ mode: String, settle: String = "0ms", _ more: JSONValue = [:])
    -> JSONValue
  {
    var members = more.object ?? [:]
    members["path"] = "inbox"
    members["mode"] = .string(mode)
    members["settle"] = .string(settle)
    return [.object(members)]
  }

  @Test("A file in its settle window is settling, and for how long yet is said")
  func window() throws {
    let workspace = try Workspace(sources: Self.source("move", settle: "1h"))
    try workspace.configure(sources: Self.source("move"))
    try workspace.json("run")
    try workspace.configure(sources: Self.source("move", settle: "1h"))
    try workspace.put("one", as: "a.txt")
    let told = try explain(workspace, "inbox/a.txt")
    #expect(told["state"] == "settling" && told["changed"] == false)
    let left = try #require(told["settlesInSeconds"]?.double)
    #expect(left > 3500 && left <= 3600)
    #expect(told["reason"]?.string?.contains("1h") == true)
    #expect(try workspace.run("explain", "inbox/a.txt").output.contains("is complete in"))
    // Without a window it only has to be taken.
    try workspace.configure(sources: Self.source("move"))
    let unseen = try explain(workspace, "inbox/a.txt")
    #expect(unseen["state"] == "unseen" && unseen["settlesInSeconds"] == nil)
    #expect(unseen["next"] == "The next run imports it.")
  }

  @Test("Before the first run a path is explained all the same")
  func beforeTheFirstRun() throws {
    let workspace = try Workspace()
    #expect(try workspace.run("init", "fresh").exitCode == 0)
    try workspace.write(Array("one".utf8), to: "fresh/inbox/a.txt")
    let outcome = try workspace.run(
      "explain", "--json", "--config", "fresh/pipeline.json", "fresh/inbox/a.txt")
    let told = try outcome.event("path")
    #expect(outcome.exitCode == 0 && ["unseen", "settling"].contains(told["state"]?.string))
  }

  @Test("A file that is being written is settling, seen before or not, and asking hurts nobody")
  func writer() throws {
    let workspace = try Workspace()
    try workspace.put("begun", as: "a.txt")
    let writer = try #require(fopen(workspace.inbox.appending("a.txt").description, "ae"))
    try workspace.json("run")
    let known = try explain(workspace, "inbox/a.txt")
    #expect(known["state"] == "settling" && known["settlesInSeconds"] == nil)
    #expect(known["reason"] == "A process has it open for writing.")
    try workspace.put("begun, too", as: "b.txt")
    let other = try #require(fopen(workspace.inbox.appending("b.txt").description, "ae"))
    let unseen = try explain(workspace, "inbox/b.txt")
    #expect(unseen["state"] == "settling" && unseen["seenAt"] == .null)
    #expect(unseen["next"]?.string?.contains("no process has it open") == true)
    fclose(other)
    fclose(writer)
    #expect(try explain(workspace, "inbox/b.txt")["state"] == "unseen")
    let after = try explain(workspace, "inbox/a.txt")
    #expect(after["state"] == "settling" && after["next"] == "The next run imports it.")
    #expect(try workspace.json("run").summary["imported"] == 2)
  }

  @Test("What happens next is said of every state, and what has changed since")
  func next() throws {
    let workspace = try Workspace(sources: Self.source("copy", ["exclude": ["*.log"]]))
    for (name, text) in [
      ("kept", "one"), ("of it", "one"), ("changes", "two"), ("goes", "three"), ("goes too", "4"),
      ("empty", ""), ("d.log", "five"),
    ] { try workspace.put(text, as: BytePath(name)) }
    try workspace.json("run", exit: 3)
    #expect(unlink(workspace.inbox.appending("goes").description) == 0)
    try workspace.json("run")
    #expect(unlink(workspace.inbox.appending("goes too").description) == 0)
    try workspace.put("two, and more", as: "changes")
    try workspace.put("three again", as: "goes")
    let expected: [(BytePath, String, Bool, String)] = [
      ("kept", "imported", false, "until it changes"),
      ("of it", "duplicate", false, "until it changes"),
      ("changes", "imported", true, "imports it as it is now"),
      ("goes", "gone", true, "a file again"),
      ("goes too", "imported", true, "records that it is gone"),
      ("empty", "rejected", false, "until it changes"),
      ("d.log", "ignored", false, "as long as this rule applies"),
    ]
    for (name, state, hasChanged, next) in expected {
      let told = try explain(workspace, workspace.inbox.appending(name))
      #expect(told["state"]?.string == state, "\(name)")
      #expect(told["changed"]?.bool == hasChanged, "\(name)")
      #expect(told["next"]?.string?.contains(next) == true, "\(name): \(told)")
    }
    // Of which it is a duplicate: the asset follows.
    let events = try workspace.json("explain", "inbox/of it")
    #expect(events.of("asset").first?["name"]?.string?.isEmpty == false)
    // The rules are those of now, not of the last run.
    try workspace.configure(sources: Self.source("copy", ["exclude": ["kept", "sub/**"]]))
    let ignored = try explain(workspace, "inbox/kept")
    #expect(ignored["next"]?.string?.contains("excluded by “kept”") == true)
    #expect(try explain(workspace, "inbox/d.log")["changed"] == true)
    try workspace.makeFolder(workspace.inbox.appending("sub"))
    try workspace.put("six", as: "sub/inner")
    #expect(try explain(workspace, "inbox/sub/inner")["state"] == "ignored")
    #expect(try explain(workspace, "library/library.json")["reason"] == "the library itself")
  }

  /// Everything in a folder as the program counts it: a file each, an ignored folder once.
  private func count(_ workspace: Workspace, ignored: [String]) throws -> Int {
    try workspace.files(below: "inbox").filter { path in
      !ignored.contains { path.description.hasPrefix("\($0)/") }
    }.count + ignored.count
  }

  /// Expects that `status` counts what is in the inbox, and nothing else.
  private func expectCounts(
    _ workspace: Workspace, _ counts: [String: Int], ignored: [String],
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let status = try #require(try workspace.json("status").first)
    let onDisk = try #require(status["pathsOnDisk"]?.object).compactMapValues(\.integer)
    #expect(onDisk.filter { $0.value > 0 } == counts, sourceLocation: location)
    let sum = onDisk.values.reduce(0, +)
    #expect(
      try sum == count(workspace, ignored: ignored), "\(onDisk)", sourceLocation: location)
  }

  @Test("The counts of status add up to what is on disk", arguments: ["move", "copy"])
  func adding(mode: String) throws {
    let workspace = try Workspace(
      sources: Self.source(mode, ["duplicates": "keep", "exclude": ["drafts/"]]))
    for folder in ["sub", "drafts", "@eaDir"] as [BytePath] {
      try workspace.makeFolder(workspace.inbox.appending(folder))
    }
    for (name, text) in [
      ("a", "one"), ("b", "one"), ("sub/c", "two"), ("sub/d", "three"), ("empty", ""),
      ("drafts/f", "five"), ("drafts/g", "six"), ("@eaDir/h", "seven"),
      ("open", "eight"), ("goes", "nine"),
    ] { try workspace.put(text, as: BytePath(name)) }
    // The test removes it, and nobody may miss it.
    try workspace.write(Array("four".utf8), to: "inbox/e.part")
    #expect(symlink("a", workspace.inbox.appending("link").description) == 0)
    let writer = try #require(fopen(workspace.inbox.appending("open").description, "ae"))
    // Somebody else's copies are no part of any source.
    try workspace.write(Array("ten".utf8), to: "elsewhere")
    try workspace.json("import", "elsewhere")
    try workspace.json("run", exit: 3)
    let ignored = ["drafts", "@eaDir"]
    var counts = ["duplicate": 1, "ignored": 4, "rejected": 1, "settling": 1]
    if mode == "copy" { counts["imported"] = 4 }
    try expectCounts(workspace, counts, ignored: ignored)
    fclose(writer)
    unlink(workspace.inbox.appending("goes").description)
    unlink(workspace.inbox.appending("empty").description)
    unlink(workspace.inbox.appending("e.part").description)
    try workspace.put("one", as: "sub/again")
    try workspace.json("run")
    counts = ["duplicate": 2, "ignored": 3]
    if mode == "copy" { counts["imported"] = 4 }
    try expectCounts(workspace, counts, ignored: ignored)
    #expect(try workspace.run("status").output.contains("on disk     "))
    #expect(try workspace.json("run").of("file") == [])
    try workspace.expectSound()
  }

  @Test(
    "Files that can't be read count as what they are",
    .enabled(
      if: Unprivileged.isPossible,
      "Neither run as an ordinary user, nor may setpriv run the program as one."))
  func failed() throws {
    let workspace = try Workspace(sources: Self.source("copy"))
    try workspace.put("secret", as: "secret.txt")
    try workspace.put("open", as: "open.txt")
    try Unprivileged.handOver(workspace)
    try Unprivileged.shell("chmod 0 inbox/secret.txt", in: workspace)
    try workspace.json("run", exit: 3)
    try expectCounts(workspace, ["failed": 1, "imported": 1], ignored: [])
    let told = try explain(workspace, "inbox/secret.txt")
    #expect(told["state"] == "failed" && told["next"] == "The next run tries again.")
    try Unprivileged.shell("chmod 600 inbox/secret.txt", in: workspace)
    try workspace.json("run")
    try expectCounts(workspace, ["imported": 2], ignored: [])
  }
}
