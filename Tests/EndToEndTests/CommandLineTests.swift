import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What people and scripts meet at the command line.
@Suite("Command line", .timeLimit(.minutes(3)))
struct CommandLineTests {
  /// A workspace with some text files as assets, without stages.
  private func library(of count: Int) throws -> Workspace {
    let workspace = try Workspace(stages: [])
    for index in 0..<count { try workspace.put("file \(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    return workspace
  }

  private func trashAll(_ workspace: Workspace) throws {
    let ids = try workspace.assets().compactMap { $0["id"]?.string }.map { BytePath($0) }
    #expect(try workspace.program.run(["rm"] + ids).exitCode == 0)
  }

  // MARK: What can't be taken back

  @Test(
    "On a terminal `trash empty` and `gc` ask, and only a yes is one",
    .enabled(if: Terminal.isPossible, "\(Terminal.reason)"))
  func confirmation() throws {
    let workspace = try library(of: 1)
    try trashAll(workspace)
    for (verb, question) in [("trash empty", "Delete 1 asset"), ("gc", "Remove 1 file")] {
      let no = try Terminal.run(verb, typing: "n", in: workspace)
      #expect(no.exitCode == 0 && no.output.contains(question), "\(no.output)")
      let after = try workspace.json(
        "\(verb.split(separator: " ")[0])" == "gc" ? "gc" : "trash",
        verb == "gc" ? "--dry-run" : "list")
      #expect(after.first?[verb == "gc" ? "originals" : "state"] == (verb == "gc" ? 1 : "trashed"))
      #expect(try Terminal.run(verb, typing: "y", in: workspace).exitCode == 0)
    }
    #expect(try workspace.assets() == [])
    #expect(try workspace.files(below: "library/originals") == [])
  }

  @Test("Off a terminal more than a few take --yes")
  func unasked() throws {
    let workspace = try library(of: 21)
    try trashAll(workspace)
    for verb: [BytePath] in [["trash", "empty"], ["gc"]] {
      let refused = try workspace.program.run(verb)
      #expect(refused.exitCode == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
      #expect(try workspace.program.run(verb + ["--yes"]).exitCode == 0)
    }
    #expect(try workspace.files(below: "library/originals") == [])
  }

  @Test("The trash has an age")
  func age() throws {
    let workspace = try library(of: 2)
    let ids = try workspace.assets().compactMap { $0["id"]?.string }
    #expect(try workspace.run("rm", BytePath(ids[0])).exitCode == 0)
    // As if it had been there for a month.
    try workspace.change(
      "UPDATE asset SET trashed_at = trashed_at - 31 * 86400000000 WHERE trashed_at IS NOT NULL")
    #expect(try workspace.run("rm", BytePath(ids[1])).exitCode == 0)
    let list = try workspace.json("trash", "list")
    #expect(list.count == 2 && list.allSatisfy { $0["trashedAt"]?.string != nil })
    #expect(
      try workspace.json("trash", "list", "--older-than", "30d").map { $0["id"]?.string } == [
        ids[0]
      ])
    // Longer ago than anything can be.
    #expect(try workspace.json("trash", "list", "--older-than", "999999999d").isEmpty)
    let restore = try workspace.run("trash", "restore", "0", "--older-than", "30d")
    #expect(restore.exitCode == 2 && restore.errors.contains("list and empty"), "\(restore)")
    #expect(try workspace.json("trash", "empty", "--older-than", "30d").first?["assets"] == 1)
    #expect(try workspace.json("trash", "list").map { $0["id"]?.string } == [ids[1]])
  }

  // MARK: Bytes and lists

  @Test(
    "`get` writes no bytes to a terminal unless told to, and a file gets the original's time",
    .enabled(if: Terminal.isPossible, "\(Terminal.reason)"))
  func get() throws {
    let workspace = try Workspace(stages: [])
    try workspace.put("precious", as: "a.txt")
    var times = [
      timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0),
    ]
    utimensat(AT_FDCWD, workspace.inbox.appending("a.txt").description, &times, 0)
    try workspace.json("run")
    let id = try #require(try workspace.asset(named: "a.txt")["id"]?.string)
    let refused = try Terminal.run("get \(id)", in: workspace)
    #expect(refused.exitCode == 2 && !refused.output.contains("precious"))
    #expect(try Terminal.run("get \(id) -o -", in: workspace).output.contains("precious"))
    #expect(try workspace.run("get", BytePath(id), "-o", "-").output == "precious")
    #expect(try workspace.run("get", BytePath(id), "-o", "b.txt").exitCode == 0)
    var status = stat()
    stat(workspace.root.appending("b.txt").description, &status)
    #expect(status.st_mtim.tv_sec == 1_000_000_000)
  }

  @Test("`list --json` says of every asset what `show --json` says of it, whatever its name")
  func lines() throws {
    let workspace = try Workspace()
    let names: [BytePath] = [
      "plain.jpg", "quote\".txt", "back\\slash.txt", "new\nline.txt", "ümläut.txt",
      "\u{202E}odd.txt",
      BytePath(bytes: Array("bad".utf8) + [0xFF]),
    ]
    for (index, name) in names.enumerated() {
      try workspace.put(
        index == 0 ? Pictures.jpeg(width: 90, height: 60) : Array("\(index)".utf8), as: name)
    }
    try workspace.json("run")
    let assets = try workspace.assets()
    #expect(assets.count == names.count)
    for asset in assets {
      let id = try #require(asset["id"]?.string)
      let shown = try #require(try workspace.json("show", BytePath(id)).first)
      var members = try #require(shown.object)
      for key in ["sightings", "jobs", "facts"] { members[key] = nil }
      #expect(asset == .object(members))
    }
    #expect(assets.contains { $0["renditions"]?.array?.count == 2 })
  }

  @Test(
    "A list ends when nobody reads it any more", .about(.catalogFile),
    arguments: ["list", "list --json"])
  func reader(words: String) throws {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    try workspace.put("one", as: "a.txt")
    try workspace.json("run")
    // The same asset many times over, and behind all of them one that can't be read.
    try Unprivileged.shell(
      """
      sqlite3 library/catalog.sqlite "
        CREATE TEMP TABLE one AS SELECT * FROM asset;
        CREATE TEMP TABLE key (id BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
          INSERT INTO key SELECT randomblob(16) FROM n;
        INSERT INTO asset SELECT key.id, digest, name, source, path, modified, permissions,
          imported_at, trashed_at, run, supersedes FROM one, key;
        INSERT INTO asset SELECT x'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', digest, name, source, path,
          modified, permissions, imported_at, trashed_at, run, supersedes FROM one;
        INSERT INTO ledger (id, fingerprint, digest, asset, state, facts, class, reason)
          SELECT id + 1, fingerprint, digest, x'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', 'done', '{', NULL,
          NULL FROM ledger;
        INSERT INTO job SELECT x'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF', stage, ledger + 1, NULL FROM job;
        INSERT INTO job SELECT key.id, stage, ledger, NULL FROM key, job WHERE asset IN (
          SELECT id FROM one);"
      """, in: workspace)
    let line = "'\(BuiltProgram.path)' \(words)"
    try Unprivileged.shell(
      "code=0; \(line) > all || code=$?; [ $code = 1 ]; { \(line); echo $? > code; } | head -n 1 > first",
      in: workspace)
    #expect(try workspace.read("code") == Array("0\n".utf8))
    #expect(try workspace.read("first").count > 20)
  }

  // MARK: Words

  @Test("`help` is a verb, and switches of one letter may be put together")
  func words() throws {
    let workspace = try library(of: 0)
    #expect(try workspace.run("help").output == workspace.run("--help").output)
    #expect(try workspace.run("help", "trash").output == workspace.run("trash", "--help").output)
    #expect(try workspace.run("trash", "list", "--help").exitCode == 0)
    #expect(try workspace.run("run", "-nq").exitCode == 0)
    #expect(try workspace.run("run", "-nx").exitCode == 2)
  }

  // MARK: What failed

  @Test("`status` counts the failures that `failed` lists, of twins and of the trash, too")
  func failures() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "move", "duplicates": "asset"]])
    let broken = try Array(Pictures.jpeg(width: 640, height: 480).prefix(20_000))
    for name: BytePath in ["a.jpg", "b.jpg", "c.jpg"] { try workspace.put(broken, as: name) }
    try workspace.json("run", exit: 3)
    let id = try #require(try workspace.asset(named: "a.jpg")["id"]?.string)
    #expect(try workspace.run("rm", BytePath(id)).exitCode == 0)
    let outcome = try workspace.run("failed")
    #expect(outcome.output.split(separator: "\n").count == 2)
    #expect(outcome.errors == "2 failed jobs\n")
    let status = try #require(try workspace.json("status").first)
    #expect(status["failures"] == 2)
    #expect(status["jobs"]?["thumbnails"]?["failed"] == 2)
    #expect(status["jobs"]?["identify"]?["done"] == 2)
  }

  @Test("What `import` passed over is explained as that, and not as what a run would take")
  func ignoredImport() throws {
    let workspace = try library(of: 0)
    try workspace.makeFolder("elsewhere")
    try workspace.write(Array("dot".utf8), to: "elsewhere/.hidden")
    try workspace.json("import", "elsewhere")
    let path = try #require(try workspace.json("explain", "elsewhere/.hidden").of("path").first)
    #expect(path["state"] == "ignored" && path["changed"] == false)
    #expect(path["next"]?.string?.contains("the next run imports it") == false)
  }

  @Test("`verify` names the assets of what is damaged")
  func verify() throws {
    let workspace = try library(of: 1)
    let original = try #require(try workspace.files(below: "library/originals").first)
    try workspace.damage(
      BytePath("library/originals").appending(original), Array("FILE 0".utf8))
    let outcome = try workspace.run("verify")
    #expect(outcome.exitCode == 3 && outcome.errors.contains("0.txt ("), "\(outcome.errors)")
    #expect(try workspace.json("verify", exit: 3).of("problem").first?["names"] == ["0.txt"])
  }
}
