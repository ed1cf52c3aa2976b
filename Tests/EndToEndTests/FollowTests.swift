import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// `list --since` and `list --follow`, as built, beside other processes that change the library.
@Suite("Following changes", .timeLimit(.minutes(5)))
struct FollowTests {
  /// A library with two texts.
  private func made() throws -> Workspace {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    try workspace.put("first", as: "a.txt")
    try workspace.put("second", as: "b.txt")
    try workspace.json("run")
    return workspace
  }

  private func events(_ run: BuiltProgramRun) throws -> [JSONValue] {
    let bytes = run.outputSoFar
    let end = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return try bytes[..<end].split(separator: UInt8(ascii: "\n")).map {
      try JSONText.decode(JSONValue.self, from: String(decoding: $0, as: UTF8.self))
    }
  }

  private func asset(_ name: String, _ workspace: Workspace) throws -> (id: BytePath, JSONValue) {
    let asset = try workspace.asset(named: name)
    return (BytePath(try #require(asset["id"]?.string)), asset)
  }

  @Test("A follower is told of every change by other processes once", arguments: [SIGINT, SIGTERM])
  func follows(signal: Int32) throws {
    let workspace = try made()
    let run = try workspace.program.start(["list", "--follow", "--json"])
    try run.wait(for: "the list") { try !events(run).of("revision").isEmpty }
    #expect(try events(run) == workspace.json("list", "--since", "0"))
    var seen = try events(run).count
    /// Changes something, and waits until the follower has printed the asset as the list shows it.
    func change(_ name: String, _ words: BytePath...) throws {
      _ = try workspace.program.run(words)
      let (_, asset) = try asset(name, workspace)
      try run.wait(for: "\(words.map(\.printable))") {
        let new = try events(run).dropFirst(seen)
        return new.contains(asset) && new.last?["event"] == "revision"
      }
      seen = try events(run).count
    }
    try workspace.put("third", as: "c.txt")
    try change("c.txt", "run")
    let a = try asset("a.txt", workspace).id
    try change("a.txt", "rm", a)
    try change("a.txt", "trash", "restore", a)
    try change("a.txt", "rm", a)
    try workspace.json("trash", "empty", "--older-than", "0s", "--yes")
    try run.wait(for: "the removal") { try !events(run).of("removed").isEmpty }
    try run.wait(for: "its revision") { try events(run).last?["event"] == "revision" }
    #expect(
      try events(run).of("removed") == [
        ["event": "removed", "id": .string(a.description), "deleted": true]
      ])
    // No line of an asset says what the one before it said.
    for id in Set(try events(run).of("asset").compactMap { $0["id"]?.string }) {
      let lines = try events(run).of("asset").filter { $0["id"]?.string == id }
      for (one, next) in zip(lines, lines.dropFirst()) { #expect(one != next) }
    }
    run.signal(signal)
    let outcome = try run.wait(within: 20)
    #expect(outcome.exitCode == 128 + signal && outcome.errors.isEmpty)
    // The last revision is where the next one begins.
    let last = try #require(try outcome.events().of("revision").last)
    let word = BytePath(try #require(last["revision"]?.string))
    #expect(try workspace.json("list", "--since", word) == [last])
  }

  @Test("A query's follower is told of what comes into its result and leaves it")
  func query() throws {
    let workspace = try made()
    let run = try workspace.program.start(["list", "--follow", "--json", "is:trashed", "name:a"])
    try run.wait(for: "the list") { try !events(run).isEmpty }
    let (a, b) = (try asset("a.txt", workspace).id, try asset("b.txt", workspace).id)
    let start = try #require(try events(run).first?["revision"]?.string)
    for id in [b, a] { try workspace.json("rm", id) }
    try run.wait(for: "the asset") { try events(run).last?["event"] == "revision" }
    try run.wait(for: "the asset") { try !events(run).of("asset").isEmpty }
    for id in [b, a] { try workspace.json("trash", "restore", id) }
    try run.wait(for: "its way out") { try !events(run).of("removed").isEmpty }
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 20).events()
    #expect(outcome.of("asset").compactMap { $0["id"]?.string } == [a.description])
    let removed: [JSONValue] = [
      ["event": "removed", "id": .string(a.description), "deleted": false]
    ]
    #expect(outcome.of("removed") == removed)
    // Who does not know the result is told of all that are not in it.
    let changes = try workspace.json("list", "--since", BytePath(start), "is:trashed", "name:a")
    #expect(
      Set(changes.of("removed").compactMap { $0["id"]?.string }) == [a.description, b.description])
    #expect(changes.of("asset").isEmpty)
  }

  @Test("--since prints what changed and where to go on, as lines, columns and JSON")
  func since() throws {
    let workspace = try made()
    let everything = try workspace.json("list", "--since", "0")
    let listed = try workspace.assets()
    #expect(everything.of("asset") == listed)
    let first = try #require(everything.last?["revision"]?.string)
    #expect(try workspace.json("list", "--since", BytePath(first)) == everything.suffix(1))
    let (b, _) = try asset("b.txt", workspace)
    try workspace.json("rm", b)
    let json = try workspace.json("list", "--since", BytePath(first))
    let trashed = try asset("b.txt", workspace).1
    #expect(json.of("asset") == [trashed] && json.count == 2)
    let next = try #require(json.last?["revision"]?.string)
    let lines = try workspace.run("list", "--since", BytePath(first))
    #expect(
      lines.output.hasPrefix("\(b)\ttrashed\t") && lines.output.split(separator: "\n").count == 1)
    #expect(lines.errors == "Go on with --since \(next).\n")
    let columns = try workspace.run(
      "list", "--since", BytePath(first), "--fields", "name,state", "--format", "csv", "--quiet")
    #expect(columns.output == "name,state\nb.txt,trashed\n" && columns.errors.isEmpty)
    try workspace.json("rebuild-catalog")
    let error = try workspace.json("list", "--since", BytePath(next), exit: 1).of("error").first
    #expect(error?["message"]?.string?.contains("List everything again.") == true)
    for (words, part) in [
      (["--since", "yesterday"], "“yesterday” is no revision"),
      (["--follow", "--sort", "name"], "--sort"), (["--since", "0", "--limit", "3"], "--limit"),
      (["--follow", "--explain"], "--explain"), (["--follow", "--group-by", "day"], "--group-by"),
    ] {
      let outcome = try workspace.program.run(["list"] + words.map { BytePath($0) })
      #expect(outcome.exitCode == 2 && outcome.errors.contains(part), "\(words)")
    }
  }

  @Test("A follower goes on with a catalog that was made anew")
  func rebuilt() throws {
    let workspace = try made()
    let run = try workspace.program.start(["list", "--follow", "--json"])
    try run.wait(for: "the list") { try !events(run).isEmpty }
    let seen = try events(run).count
    try workspace.json("rebuild-catalog")
    try run.wait(for: "the new catalog") {
      let new = try events(run).dropFirst(seen)
      return new.first?["event"] == "restarted" && new.last?["event"] == "revision"
    }
    #expect(try events(run).dropFirst(seen).filter { $0["event"] == "asset" }.count == 2)
    try workspace.put("third", as: "c.txt")
    try workspace.json("run")
    let (_, c) = try asset("c.txt", workspace)
    try run.wait(for: "a change") { try events(run).contains(c) }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 20).exitCode == 143)
  }

  @Test("A follower whose reader has gone ends, though nothing changes")
  func readerGone() throws {
    let workspace = try made()
    let program = BuiltProgram.path.description
    try Unprivileged.shell("'\(program)' list --follow | head -n 1 > first", in: workspace)
    #expect(try String(decoding: workspace.read("first"), as: UTF8.self).contains("a.txt"))
  }
}
