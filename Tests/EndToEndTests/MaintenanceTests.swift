import Files
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Verbs that maintain a library: rm, trash, undo, gc, verify.
@Suite("Maintenance", .timeLimit(.minutes(10)))
struct MaintenanceTests {
  private func id(_ asset: JSONValue) throws -> BytePath {
    BytePath(try #require(asset["id"]?.string))
  }

  private func state(_ workspace: Workspace, _ name: String) throws -> JSONValue? {
    try workspace.asset(named: name)["state"]
  }

  /// What a file has besides its bytes.
  private func status(_ path: BytePath) throws -> (permissions: UInt32, modified: Int64) {
    let status = try FileSystem.status(of: path)
    return (status.permissions, status.identity.modified)
  }

  @Test("Into the trash, back, for good, and gone with gc; silent if all is well")
  func trash() throws {
    let workspace = try Workspace(
      stages: Workspace.stages(thumbnails: ["storage": "file"]))
    for (name, width) in [("a.jpg", 90), ("b.jpg", 91), ("c.jpg", 92)] {
      try workspace.put(try Pictures.jpeg(width: width, height: 60), as: BytePath(name))
    }
    try workspace.json("run")
    let ids = try workspace.assets().map(id)
    // By the end of an ID as well.
    let suffix = BytePath(String(ids[1].description.suffix(8)))
    #expect(try workspace.json("rm", "--dry-run", ids[0], suffix).first?["assets"] == 2)
    let removed = try #require(try workspace.json("rm", ids[0], suffix, ids[0]).first)
    #expect(removed["event"] == "trashed" && removed["assets"] == 2)
    for words: [BytePath] in [["rm", ids[0]], ["trash", "restore", ids[2]]] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 0 && outcome.output == "" && outcome.errors == "")
    }
    #expect(try workspace.assets().map { $0["state"] } == ["trashed", "trashed", "done"])
    #expect(try workspace.json("trash", "list").map { $0["name"] } == ["a.jpg", "b.jpg"])
    #expect(try workspace.json("status").first?["assets"] == 1)
    #expect(try workspace.json("trash", "restore", ids[0]).first?["event"] == "restored")
    #expect(try workspace.json("gc").first?["bytes"] == 0)
    #expect(try workspace.json("trash", "empty", "--dry-run").first?["assets"] == 1)
    let emptied = try #require(try workspace.json("trash", "empty").first)
    #expect(emptied["event"] == "emptied" && emptied["assets"] == 1)
    let bytes = try #require(emptied["bytes"]?.integer)
    #expect(bytes > 0)
    #expect(try workspace.assets().count == 2)
    #expect(try workspace.files(below: "library/renditions").count == 4)
    #expect(try workspace.files(below: "library/originals").count == 3)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    for verb: [BytePath] in [["gc", "--dry-run"], ["gc"]] {
      let garbage = try #require(try workspace.program.run(verb + ["--json"]).events().first)
      #expect(garbage["event"] == "garbage" && garbage["originals"] == 1)
      #expect(garbage["bytes"]?.integer == bytes)
    }
    let plan = try workspace.run("gc", "--dry-run")
    #expect(plan.output == "Nothing would be removed, 0 bytes.\n" && plan.errors == "")
    #expect(try workspace.json("gc").first?["originals"] == 0)
    #expect(try workspace.files(below: "library/originals").count == 2)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(try workspace.json("run").of("file") == [])
    for words: [BytePath] in [
      ["rm"], ["rm", "zzz"], ["trash"], ["trash", "burn"], ["undo", "zz"],
    ] {
      #expect(try workspace.program.run(words).exitCode == 2)
    }
  }

  @Test(
    "What is trashed while trash empty asks is not deleted",
    .enabled(if: Terminal.isPossible, Comment(rawValue: Terminal.reason)))
  func trashedMeanwhile() throws {
    let workspace = try Workspace(stages: [])
    for name in ["a", "b"] { try workspace.put("text \(name)", as: BytePath("\(name).txt")) }
    try workspace.json("run")
    try workspace.json("rm", "name:a")
    let program = BuiltProgram.path
    // The answer comes when the question is there and the other one is in the trash, too.
    try Unprivileged.shell(
      """
      { until grep -q 'for good' seen; do sleep 0.05; done
        '\(program)' rm name:b > removed; echo y; } \
      | TERM=xterm timeout 60 script -qefc "'\(program)' trash empty" /dev/null > seen
      """, in: workspace)
    #expect(try workspace.assets().map { $0["name"] } == ["b.txt"])
    #expect(try workspace.asset(named: "b.txt")["state"] == "trashed")
  }

  @Test("A job of an asset in the trash waits until it is restored")
  func waitingJobs() throws {
    let workspace = try Workspace(stages: [["name": "identify", "plugin": "identify"]])
    try workspace.put(try Pictures.jpeg(width: 90, height: 60), as: "a.jpg")
    try workspace.json("run")
    let asset = try id(try workspace.asset(named: "a.jpg"))
    try workspace.json("rm", asset)
    try workspace.configure()
    #expect(try workspace.json("run").of("job") == [])
    try workspace.json("trash", "restore", asset)
    #expect(try workspace.json("run").of("job").count == 1)
    #expect(try state(workspace, "a.jpg") == "done")
  }

  @Test("Thumbnails of an asset in the trash are no problem after a rebuild, and go with it")
  func trashedThenRebuilt() throws {
    let workspace = try Workspace(stages: Workspace.stages(thumbnails: ["storage": "file"]))
    try workspace.put(try Pictures.jpeg(width: 90, height: 60), as: "a.jpg")
    try workspace.json("run")
    try workspace.json("rm", id(try workspace.asset(named: "a.jpg")))
    try workspace.json("rebuild-catalog")
    try workspace.json("run")
    #expect(try workspace.files(below: "library/renditions").count == 2)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(try workspace.json("gc").first?["bytes"] == 0)
    try workspace.json("trash", "empty")
    try workspace.json("gc")
    #expect(try workspace.files(below: "library/renditions") == [])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("undo gives files back with name, mode, time and bytes, also after a rebuild")
  func undo() throws {
    for rebuilds in [false, true] {
      let workspace = try Workspace()
      try workspace.makeFolder(workspace.inbox.appending("sub"))
      let raw = BytePath(bytes: [0x73, 0x75, 0x62, 0x2F, 0xFF, 0x0A])
      try workspace.put(try Pictures.jpeg(width: 90, height: 60), as: "a.jpg")
      try workspace.put("text", as: raw)
      try Unprivileged.shell(
        "chmod 640 inbox/a.jpg; touch -d '2001-02-03 04:05:06.789' inbox/a.jpg", in: workspace)
      let before = try status(workspace.inbox.appending("a.jpg"))
      let bytes = try workspace.read("inbox/a.jpg")
      let run = try #require(try workspace.json("run").summary["run"]?.string)
      try workspace.put("later", as: "later.txt")
      try workspace.json("run")
      if rebuilds { try workspace.json("rebuild-catalog") }
      let planned = try workspace.json("undo", "--dry-run", BytePath(run))
      #expect(planned.of("planned").map { $0["action"] } == ["return", "return"])
      #expect(try workspace.files(below: "inbox") == [])
      // The path of one is taken meanwhile.
      try workspace.put("newcomer", as: "a.jpg")
      let replanned = try workspace.json("undo", "--dry-run", BytePath(run), exit: 3)
      #expect(
        Set(replanned.of("planned").compactMap { $0["action"]?.string }) == ["return", "refuse"])
      #expect(replanned.of("undone").first?["wouldReturn"] == 1)
      #expect(replanned.of("undone").first?["wouldFail"] == 1)
      let events = try workspace.json("undo", BytePath(String(run.suffix(9))), exit: 3)
      #expect(events.outcome("a.jpg") == "failed")
      #expect(events.of("undone").first?["returned"] == 1)
      #expect(events.of("undone").first?["run"]?.string == run)
      #expect(try workspace.read("inbox/a.jpg") == Array("newcomer".utf8))
      #expect(unlink(workspace.inbox.appending("a.jpg").description) == 0)
      #expect(try workspace.json("undo", BytePath(run)).outcome("a.jpg") == "returned")
      #expect(try workspace.read("inbox/a.jpg") == bytes)
      #expect(try status(workspace.inbox.appending("a.jpg")) == before)
      #expect(try workspace.read(BytePath("inbox").appending(raw)) == Array("text".utf8))
      #expect(try workspace.assets().map { $0["name"] } == ["later.txt"])
      // Once more there is nothing to undo, which is said.
      let again = try workspace.run("undo", BytePath(run))
      #expect(again.exitCode == 0 && again.errors.contains("already undone"))
      let explained = try workspace.json("explain", "inbox/a.jpg")
      #expect(explained.of("path").first?["state"] == "returned")
      #expect(try workspace.json("run").of("file") == [])
      #expect(try workspace.json("verify").summary["problems"] == 0)
      if rebuilds { try workspace.json("rebuild-catalog") }
      #expect(try workspace.json("run").of("file") == [])
      // The last run that imported something is the later one.
      #expect(try workspace.json("undo").outcome("later.txt") == "returned")
      #expect(try workspace.json("import", "inbox/later.txt").outcome("later.txt") == "imported")
      #expect(try workspace.json("undo").of("undone").first?["left"] == 1)
      #expect(try workspace.json("verify").summary["problems"] == 0)
    }
  }

  @Test("What undo would do is told for each place that a file came from")
  func previewedUndo() throws {
    let workspace = try Workspace(stages: [])
    let root = try Descriptor.openFolder(workspace.root)
    func plan(_ exit: Int32 = 0) throws -> [String?] {
      let events = try workspace.json("undo", "--dry-run", exit: exit)
      let summary = try #require(events.of("undone").first)
      let actions = events.of("planned").map { $0["action"]?.string }
      #expect(summary["wouldReturn"]?.integer == actions.count { $0 != "refuse" })
      #expect(summary["wouldLeave"]?.integer == actions.count { $0 == "leave" })
      return actions
    }
    // From outside of the sources.
    try workspace.makeFolder(workspace.root.appending("outside"))
    try workspace.write(Array("one".utf8), to: "outside/one.txt")
    try workspace.json("import", "outside/one.txt")
    #expect(try plan() == ["leave"])
    try Descriptor.openFolder(workspace.root.appending("outside")).remove("one.txt")
    #expect(try plan() == ["return"])
    try root.removeFolder("outside")
    #expect(try plan(3) == ["refuse"])
    #expect(try workspace.json("undo", exit: 3).of("undone").first?["failed"] == 1)
    // From a source that is a link, and one that is not there.
    try workspace.put("two", as: "two.txt")
    try workspace.json("run")
    try root.rename("inbox", to: root, as: "moved")
    #expect(try plan(3) == ["refuse"])
    try #require(symlink("moved", workspace.inbox.description) == 0)
    #expect(try plan() == ["return"])
    #expect(try workspace.json("undo").of("undone").first?["returned"] == 1)
    // A file has the place of a folder.
    try workspace.makeFolder(workspace.inbox.appending("sub"))
    try workspace.put("three", as: "sub/three.txt")
    try workspace.json("run")
    try Descriptor.openFolder(workspace.inbox).removeFolder("sub")
    try workspace.put("a file", as: "sub")
    #expect(try plan(3) == ["refuse"])
    #expect(try workspace.json("undo", exit: 3).of("undone").first?["failed"] == 1)
  }

  @Test(
    "Files go back to another mount of the same file system, which no rename reaches",
    .enabled(if: geteuid() == 0 && Namespace.isPossible, "Mounts need root and namespaces."))
  func undoAcrossMounts() throws {
    let workspace = try Workspace(stages: [])
    try workspace.makeFolder(workspace.root.appending("volume"))
    workspace.program.prefix = [
      "unshare", "-m", "--", "/bin/sh", "-euc", "mount --bind volume inbox; exec \"$@\"", "sh",
    ]
    try workspace.write(Array("one".utf8), to: "volume/one.txt")
    #expect(try workspace.json("run").outcome("one.txt") == "imported")
    #expect(try workspace.files(below: "volume") == [])
    #expect(try workspace.json("undo").of("undone").first?["returned"] == 1)
    #expect(try workspace.read("volume/one.txt") == Array("one".utf8))
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test(
    "An original that belongs to another user is copied back",
    .enabled(if: Unprivileged.isPossible, "Only root can be an ordinary user."))
  func undoOfForeign() throws {
    let workspace = try Workspace(stages: [])
    try workspace.put("one", as: "one.txt")
    try Unprivileged.handOver(workspace)
    try workspace.json("run")
    try Unprivileged.shell(
      "find library/originals -type f -exec chown 0:0 {} +", in: workspace)
    #expect(try workspace.json("undo").of("undone").first?["returned"] == 1)
    #expect(try workspace.read("inbox/one.txt") == Array("one".utf8))
    #expect(try status(workspace.inbox.appending("one.txt")).permissions == 0o644)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A file that a copied source has under another name by now is there already")
  func previewedRename() throws {
    let workspace = try Workspace(stages: [])
    try workspace.configure(sources: [["path": "inbox", "mode": "copy"]], stages: [])
    try workspace.put("one", as: "one.txt")
    try workspace.json("run")
    let inbox = try Descriptor.openFolder(workspace.inbox)
    try inbox.rename("one.txt", to: inbox, as: "renamed.txt")
    try workspace.json("run")
    try workspace.put("another", as: "one.txt")
    let planned = try workspace.json("undo", "--dry-run")
    #expect(planned.of("planned").map { $0["action"] } == ["leave"])
    #expect(
      planned.of("planned").map { $0["path"]?.string }
        == [workspace.inbox.appending("renamed.txt").description])
    #expect(try workspace.json("undo").of("undone").first?["left"] == 1)
    let again = try #require(try workspace.json("undo", "--dry-run").of("undone").first)
    #expect(again["dryRun"] == true && again["wouldReturn"] == 0 && again["reason"] != nil)
  }

  @Test("More than 1,000 files are not given back without being asked for")
  func manyFiles() throws {
    let workspace = try Workspace(stages: [])
    for index in 0...1000 { try workspace.put("file \(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    let refused = try workspace.run("undo")
    #expect(refused.exitCode == 2 && refused.errors.contains("--yes"))
    #expect(try workspace.files(below: "inbox") == [])
    #expect(try workspace.json("undo", "--yes").of("undone").first?["returned"] == 1001)
    #expect(try workspace.files(below: "inbox").count == 1001)
    #expect(try workspace.assets().isEmpty)
  }

  @Test("A damaged original is named by verify, and healed by importing its own file again")
  func healing() throws {
    let workspace = try Workspace()
    let elsewhere = try TemporaryFolder()
    try workspace.put("precious", as: "good.txt", in: elsewhere.path)
    let good = elsewhere.appending("good.txt")
    try workspace.json("import", good)
    let path = try #require(try workspace.files(below: "library/originals").first)
    let original = workspace.library.appending("originals").appending(path)
    try workspace.damage(original, Array("Precious".utf8))
    let problems = try workspace.json("verify", exit: 3)
    #expect(problems.of("problem").map { $0["kind"] } == ["original-damaged"])
    #expect(problems.summary["complete"] == true && problems.summary["repaired"] == 0)
    try expectDamage("original-damaged", in: workspace)
    #expect(try workspace.json("import", good).outcome("good.txt") == "duplicate")
    #expect(try workspace.read(original) == Array("precious".utf8))
    try expectDamage(nil, in: workspace)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(try workspace.files(below: "library/damaged").count == 1)
    // Put aside on request, and healed in the same way.
    try workspace.damage(original, Array("Precious".utf8))
    let events = try workspace.json("verify", "--repair", exit: 3)
    #expect(events.summary["setAside"] == 1 && events.summary["repaired"] == 0)
    let told = try #require(events.of("repair").first)
    #expect(told["action"] == "set-aside" && told["kind"] == "original-damaged")
    let place = workspace.bucket.map { "\($0.location)/originals/\(path)" } ?? "\(original)"
    #expect(told["path"]?.string == place)
    #expect(told["message"]?.string?.contains("“\(place)” was damaged") == true)
    #expect(!workspace.exists(original))
    try expectDamage("original-damaged", in: workspace)
    #expect(try workspace.files(below: "library/damaged").count == 2)
    // Now it is missing, and nothing can be done.
    let left = try workspace.run("verify", "--repair")
    #expect(left.exitCode == 3 && left.errors.contains("left: “\(place)” stays as it is"))
    #expect(try workspace.run("import", good).exitCode == 0)
    try expectDamage(nil, in: workspace)
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(!workspace.exists("library/damage.json"))
  }

  /// Expects that all verbs that show the only asset tell of one damage, or of none.
  private func expectDamage(_ kind: String?, in workspace: Workspace) throws {
    let asset = try #require(try workspace.assets().first)
    let id = BytePath(try #require(asset["id"]?.string))
    let expected: [JSONValue] = kind.map { [.string($0)] } ?? []
    for asset in [
      asset, try #require(try workspace.json("explain", id).of("asset").first),
      try #require(try workspace.json("show", id).of("asset").first),
    ] {
      #expect(asset["damage"]?.array?.map { $0["kind"] } == expected, "\(asset)")
    }
    for words: [BytePath] in [["list"], ["explain", id], ["show", id]] {
      let output = try workspace.program.run(words).output
      #expect(output.contains(kind ?? "damage") == (kind != nil), "\(output)")
    }
  }

  // Those in PostgreSQL have tests of their own.
  @Test(
    "verify --repair makes renditions again",
    arguments: TestServers.areAsked ? ["file"] : ["file", "database"])
  func repair(storage: String) throws {
    let workspace = try Workspace(
      stages: Workspace.stages(thumbnails: ["storage": .string(storage)]))
    for (name, width) in [("a.jpg", 300), ("b.jpg", 301)] {
      try workspace.put(try Pictures.jpeg(width: width, height: 200), as: BytePath(name))
    }
    try workspace.json("run")
    let before = try workspace.state()
    let kinds: Set<String>
    if storage == "file" {
      let files = try workspace.files(below: "library/renditions").map {
        workspace.library.appending("renditions").appending($0)
      }
      #expect(unlink(files[0].description) == 0)
      try workspace.write([1, 2, 3], to: files[3])
      try workspace.write([1], to: files[0].parent.appending("nobody.jpg"))
      kinds = ["rendition-missing", "rendition-damaged", "rendition-unrecorded"]
    } else {
      try Unprivileged.shell(
        """
        sqlite3 library/renditions.sqlite "
          UPDATE rendition SET content = x'00' WHERE id = (SELECT min(id) FROM rendition);
          DELETE FROM rendition WHERE id = (SELECT max(id) FROM rendition)"
        """, in: workspace)
      kinds = ["rendition-missing", "rendition-damaged"]
    }
    let found = try workspace.json("verify", exit: 3)
    #expect(found.summary["repaired"] == 0)
    for problem in found.of("problem") where problem["kind"] != "rendition-unrecorded" {
      #expect(problem["assets"]?.array?.count == 1, "\(problem)")
    }
    let damage = try workspace.assets().flatMap { $0["damage"]?.array ?? [] }
    #expect(
      Set(damage.compactMap { $0["kind"]?.string }) == kinds.subtracting(["rendition-unrecorded"]))
    #expect(damage.allSatisfy { $0["rendition"]?.string?.hasPrefix("thumbnails/") == true })
    let events = try workspace.json("verify", "--repair")
    #expect(Set(events.of("problem").compactMap { $0["kind"]?.string }) == kinds)
    #expect(events.summary["repaired"]?.integer == kinds.count)
    let actions = Dictionary(
      events.of("repair").map { ($0["kind"]?.string ?? "", $0) }, uniquingKeysWith: { $1 })
    #expect(Set(actions.keys) == kinds && events.of("repair").count == kinds.count)
    for (kind, told) in actions {
      let action: JSONValue = kind == "rendition-unrecorded" ? "removed" : "due-again"
      #expect(told["action"] == action, "\(told)")
      let name = told["path"]?.string ?? "thumbnails/"
      #expect(told["message"]?.string?.contains(name) == true, "\(told)")
    }
    // Before another verification, too.
    #expect(try workspace.assets().allSatisfy { $0["damage"] == [] })
    #expect(try workspace.json("verify").summary["problems"] == 0)
    #expect(!workspace.exists("library/damage.json"))
    #expect(try workspace.state() == before)
    #expect(try workspace.run("verify", "--repair").errors == "")
  }

  @Test("A watch repairs for verify, which says what was done")
  func repairInWatch() throws {
    let workspace = try Workspace(
      stages: Workspace.stages(thumbnails: ["storage": "file"], isolation: "none"))
    try workspace.put(try Pictures.jpeg(width: 300, height: 200), as: "a.jpg")
    try workspace.json("run")
    let rendition = try #require(try workspace.files(below: "library/renditions").first)
    let path = workspace.library.appending("renditions").appending(rendition)
    let watch = try workspace.program.start(["watch", "--json"])
    try watch.wait(for: "its beginning") {
      try watch.eventsSoFar().of("watch").contains { $0["state"] == "watched" }
    }
    #expect(unlink(path.description) == 0)
    let outcome = try workspace.run("verify", "--repair")
    #expect(outcome.exitCode == 0, "\(outcome)")
    #expect(outcome.errors.contains("due-again: “\(path)”: its job is due again"), "\(outcome)")
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 30).exitCode == 143)
  }

  @Test("verify with a time limit gets through the library bit by bit")
  func timeLimit() throws {
    let workspace = try Workspace(stages: [])
    for index in 0..<5 { try workspace.put("file \(index)", as: BytePath("\(index).txt")) }
    try workspace.json("run")
    var checked = 0
    var rounds = 0
    while rounds < 20 {
      rounds += 1
      let summary = try workspace.json("verify", "--time-limit", "0ms").summary
      checked += summary["checked"]?.integer ?? 0
      if summary["complete"] == true { break }
      #expect(workspace.exists("library/verify.json"))
    }
    // Several originals of a bucket are read at once.
    let least = TestServers.areAsked ? 1 : 5
    #expect(checked == 5 && rounds == least && !workspace.exists("library/verify.json"))
    #expect(try workspace.run("verify", "--time-limit", "soon").exitCode == 2)
    try workspace.expectSound()
  }

  @Test("What is given back beside watch is not taken again")
  func besideWatch() throws {
    let workspace = try Workspace()
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForHolder(watch)
    for index in 0..<3 { try workspace.put("file \(index)", as: BytePath("\(index).txt")) }
    try workspace.waitForAssets(3)
    #expect(try workspace.json("undo").of("undone").first?["returned"] == 3)
    #expect(try workspace.files(below: "inbox").count == 3)
    usleep(1_500_000)
    #expect(try workspace.files(below: "inbox").count == 3)
    #expect(try workspace.assets() == [])
    try workspace.put("changed", as: "1.txt")
    try workspace.waitForAssets(1)
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 20).exitCode == 143)
    #expect(try workspace.assets().map { $0["name"] } == ["1.txt"])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("Every verb of care works while another process holds the library")
  func besideRun() throws {
    let workspace = try Workspace(
      sources: [
        ["path": "inbox", "settle": "0ms", "mode": "move"],
        ["path": "slow", "settle": HeldRun.window],
      ],
      stages: Workspace.stages(thumbnails: ["storage": "file"]))
    try workspace.makeFolder(workspace.root.appending("slow"))
    for (name, width) in [("a.jpg", 90), ("b.jpg", 91)] {
      try workspace.put(try Pictures.jpeg(width: width, height: 60), as: BytePath(name))
    }
    let first = try #require(try workspace.json("run").summary["run"]?.string)
    try workspace.put("slow", as: "slow.txt", in: workspace.root.appending("slow"))
    let held = try HeldRun(workspace)
    let ids = try workspace.assets().map(id)
    #expect(try workspace.json("rm", ids[0]).first?["assets"] == 1)
    #expect(try workspace.json("trash", "empty").first?["assets"] == 1)
    #expect(try workspace.json("gc").first?["originals"] == 1)
    let rendition = try #require(try workspace.files(below: "library/renditions").first)
    #expect(
      unlink(workspace.library.appending("renditions").appending(rendition).description) == 0)
    #expect(try workspace.json("verify", "--repair").summary["repaired"] == 1)
    // The holder makes it again by itself.
    while try state(workspace, "b.jpg") != "done" { usleep(20_000) }
    #expect(try workspace.json("verify").summary["problems"] == 0)
    let events = try workspace.json("undo", BytePath(first))
    #expect(events.outcome("b.jpg") == "returned" && events.of("undone").first?["returned"] == 1)
    let ended = try held.finish()
    #expect(ended.exitCode == 0, "\(ended.errors)")
    #expect(try workspace.files(below: "inbox") == ["b.jpg"])
    #expect(try workspace.assets().map { $0["name"] } == ["slow.txt"])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }
}
