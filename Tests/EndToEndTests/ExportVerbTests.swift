import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Testing

/// `export`, as built.
@Suite("Exporting assets", .timeLimit(.minutes(10)), .seeded)
struct ExportVerbTests {
  private static let raw = ExportBench.raw

  private func library(
    stages: JSONValue = ExportBench.stages, in parent: BytePath? = nil
  ) throws -> Workspace {
    try ExportBench.library(stages: stages, in: parent)
  }

  private func status(_ path: BytePath, _ workspace: Workspace) throws -> FileStatus {
    try Descriptor.openFolder(workspace.root).status(below: path)
  }

  private func exported(_ workspace: Workspace, _ folder: BytePath = "out") throws -> [BytePath] {
    try ExportBench.exported(workspace, folder)
  }

  @Test("Files get their names, times and numbers, and sha256sum agrees with the list")
  func names() throws {
    let workspace = try library()
    let outcome = try workspace.json("export", "--to", "out")
    #expect(outcome.of("exported").first?["exported"] == 4)
    #expect(try exported(workspace) == ["a-2.txt", "a.txt", "b.txt", Self.raw])
    #expect(try workspace.read("out/a.txt") != workspace.read("out/a-2.txt"))
    let time = try status("out/b.txt", workspace).identity.modified
    #expect(time == 981_173_106_789_000_000)
    let library = Set(try workspace.assets().compactMap { $0["digest"]?.string })
    let digests = try exported(workspace).map {
      SHA256.digest(of: try workspace.read(BytePath("out").appending($0))).hex
    }
    #expect(Set(digests) == library)
  }

  @Test("A second export finds its files and writes only what is new")
  func again() throws {
    let workspace = try library()
    try workspace.json("export", "--to", "out", "--layout", "{path}")
    #expect(try exported(workspace) == ["b.txt", Self.raw, "one/a.txt", "two/a.txt"])
    try workspace.put("c", as: "c.txt")
    try workspace.json("run")
    let before = try status("out/b.txt", workspace)
    let outcome = try workspace.json("export", "--to", "out", "--layout", "{path}")
    #expect(outcome.of("exported").first?["exported"] == 1)
    #expect(outcome.of("exported").first?["present"] == 4)
    #expect(try status("out/b.txt", workspace) == before)
    #expect(try exported(workspace).count == 5)
    // A list that is lost is written anew, as all files are read.
    try Unprivileged.shell("rm out/SHA256SUMS", in: workspace)
    let third = try workspace.json("export", "--to", "out", "--layout", "{path}")
    #expect(third.of("exported").first?["present"] == 5)
    #expect(try exported(workspace).count == 5)
  }

  @Test("A file that somebody changed or put there is never replaced")
  func neverOver() throws {
    let workspace = try library()
    try workspace.makeFolder(workspace.root.appending("out"))
    try workspace.write(Array("mine".utf8), to: "out/b.txt")
    try workspace.makeFolder(workspace.root.appending("out/a.txt"))
    try workspace.json("export", "--to", "out")
    #expect(try workspace.read("out/b.txt") == Array("mine".utf8))
    #expect(try workspace.read("out/b-2.txt") == Array("b".utf8))
    // It is listed and of the same size, but its time tells of a change.
    try workspace.write(Array("B".utf8), to: "out/b-2.txt")
    try workspace.json("export", "--to", "out")
    #expect(try workspace.read("out/b-2.txt") == Array("B".utf8))
    #expect(try workspace.read("out/b-3.txt") == Array("b".utf8))
  }

  @Test("A dry run tells the same paths and writes nothing")
  func dryRun() throws {
    let workspace = try library()
    let planned = try workspace.json("export", "--to", "out/deep", "--dry-run").of("file")
    #expect(!workspace.exists("out"))
    let done = try workspace.json("export", "--to", "out/deep").of("file")
    #expect(planned.compactMap { $0["path"] } == done.compactMap { $0["path"] })
    #expect(Set(planned.compactMap { $0["outcome"] }) == ["exported"])
  }

  @Test("A query chooses what is exported, in its order")
  func query() throws {
    let workspace = try library()
    try workspace.json("export", "name:b", "--to", "out")
    #expect(try exported(workspace) == ["b.txt"])
    let outcome = try workspace.json("export", "--to", "out2", "--sort", "-size", "--limit", "1")
    #expect(outcome.of("file").count == 1)
    #expect(try exported(workspace, "out2") == ["a.txt"])
    #expect(try workspace.run("export", "name:b").exitCode == 2)
    #expect(try workspace.run("export", "nme:b", "--to", "out3").exitCode == 2)
    #expect(try workspace.run("export", "--to", "out3", "--layout", "{nme}").exitCode == 2)
    #expect(!workspace.exists("out3"))
  }

  @Test("Nothing is exported into a library or a source, by any path")
  func excluded() throws {
    let workspace = try library()
    try Unprivileged.shell("ln -s library/originals link; mkdir apart", in: workspace)
    for place in ["library", "library/new", "inbox", "inbox/new/er", "link/x", "apart/../library"] {
      let outcome = try workspace.run("export", "--to", BytePath(place))
      #expect(outcome.exitCode == 1, "\(place)")
      #expect(outcome.errors.contains("export to another folder"), "\(place): \(outcome.errors)")
    }
    // Beside them is allowed, but not by a layout that leads into them.
    let outcome = try workspace.run("export", "name:b", "--to", ".", "--layout", "inbox/{name}")
    #expect(outcome.exitCode == 3)
    #expect(outcome.errors.contains("is a source of this one"), "\(outcome.errors)")
    try Unprivileged.shell("ln -s ../library apart/elsewhere", in: workspace)
    #expect(
      try workspace.run("export", "name:b", "--to", "apart", "--layout", "elsewhere/{name}")
        .exitCode == 3)
    #expect(try workspace.files(below: "inbox") == [])
    #expect(try workspace.json("verify").of("problem") == [])
  }

  @Test("A damaged original fails by name, and everything else is exported")
  func damage() throws {
    let workspace = try library()
    let asset = try workspace.asset(named: "b.txt")
    let digest = try #require(asset["digest"]?.string)
    let path = "library/originals/\(digest.prefix(2))/\(digest)"
    try workspace.damage(BytePath(path), Array("B".utf8))
    let outcome = try workspace.run("export", "--to", "out")
    #expect(outcome.exitCode == 3)
    #expect(outcome.errors.contains("b.txt: The original “"), "\(outcome.errors)")
    #expect(try exported(workspace) == ["a-2.txt", "a.txt", Self.raw])
    try workspace.remove(BytePath(path))
    let linked = try workspace.run("export", "--to", "out", "--transfer", "hardlink")
    // Objects of a bucket can't be linked, whatever they are.
    #expect(linked.exitCode == (workspace.bucket == nil ? 3 : 1), "\(linked)")
  }

  @Test(
    "Hard links share the original's file; what can't be shared is an error that says so",
    .about(.originals))
  func transfers() throws {
    let workspace = try library()
    try workspace.json("export", "name:b", "--to", "linked", "--transfer", "hardlink")
    #expect(try status("linked/b.txt", workspace).links == 2)
    #expect(try exported(workspace, "linked") == ["b.txt"])
    #expect(try workspace.json("verify").of("problem") == [])
    // Removing it later leaves the original alone.
    try Unprivileged.shell("rm -rf linked", in: workspace)
    #expect(try workspace.json("verify").of("problem") == [])
    try workspace.json("export", "--to", "copied", "--transfer", "copy")
    #expect(try exported(workspace, "copied").count == 4)
    let cloned = try workspace.run("export", "--to", "cloned", "--transfer", "reflink")
    if cloned.exitCode != 0 {
      #expect(cloned.exitCode == 1)
      #expect(cloned.errors.contains("export with --transfer auto"), "\(cloned.errors)")
      #expect(try exported(workspace, "cloned") == [])
    }
    #expect(try workspace.run("export", "--to", "x", "--transfer", "move").exitCode == 2)
    #expect(
      try workspace.run("export", "--to", "x", "--transfer", "hardlink", "--rendition", "a")
        .exitCode == 2)
  }

  @Test("Renditions are exported with their own extension; assets without are left out")
  func renditions() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 160, height: 120), as: "p.JPEG")
    try workspace.put("text", as: "t.txt")
    try workspace.json("run")
    let outcome = try workspace.json("export", "--to", "out", "--rendition", "grid")
    #expect(outcome.of("exported").first?["skipped"] == 1)
    #expect(try exported(workspace) == ["p.jpg"])
    let asset = try workspace.asset(named: "p.JPEG")
    let id = BytePath(try #require(asset["id"]?.string))
    let bytes = try workspace.run("get", id, "--rendition", "grid").outputBytes
    #expect(try workspace.read("out/p.jpg") == bytes)
    let none = try workspace.run("export", "--to", "out", "--rendition", "gird")
    #expect(none.exitCode == 3)
    #expect(none.errors.contains("“gird”"))
  }

  @Test("Two exports to one folder don't mix")
  func locked() throws {
    let workspace = try library()
    try workspace.json("export", "name:b", "--to", "out")
    let descriptor = workspace.root.appending("out").withCString {
      open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    let outcome = try workspace.run("export", "--to", "out")
    #expect(outcome.exitCode == 11)
    #expect(outcome.errors.contains("Another export"), "\(outcome.errors)")
    close(descriptor)
    #expect(try workspace.run("export", "--to", "out").exitCode == 0)
  }

  @Test(
    "After a kill or a failure at any call, the list is true, and the same export makes all good",
    arguments: PreloadShim.Strike.allCases)
  func strikes(strike: PreloadShim.Strike) async throws {
    // Where every call is struck, one half of them by each of two processes.
    let width = FaultSelection.isFull ? 2 : 1
    try await withThrowingTaskGroup(of: Void.self) { group in
      for part in 0..<width {
        group.addTask { try Self.strike(strike, part: part, of: width) }
      }
      try await group.waitForAll()
    }
  }

  /// Strikes an export again and again.
  private static func strike(
    _ strike: PreloadShim.Strike, part: Int, of count: Int
  ) throws {
    let bench = try ExportBench()
    if part == 0 { print("export, \(strike): \(bench.calls) calls that change files") }
    var random = SeededRandom(for: "export, \(strike)")
    let all = Array(1...bench.calls)
    // Its last calls remove the line that was replaced.
    let some = all.dropLast(6).shuffled(using: &random).prefix(4).sorted() + all.suffix(6)
    for call in FaultSelection.isFull ? all.filter({ $0 % count == part }) : some {
      try bench.strike(strike, at: call)
    }
    #expect(try bench.workspace.json("verify").of("problem") == [])
  }

  @Test("A name that somebody takes at the last moment costs no file")
  func overtaken() throws {
    let workspace = try library()
    // The kernel says once that the name exists: without a file there, the name is tried again.
    let shell = """
      strace -f -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EEXIST:when=1 \
        '\(BuiltProgram.path)' export --to out
      """
    try Unprivileged.shell(shell, in: workspace)
    #expect(try exported(workspace).count == 4)
  }

  @Test("Equal bytes under one name are one file and one line, whatever the duplicates are")
  func equalBytes() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "0ms", "mode": "copy", "duplicates": "asset"]],
      stages: [])
    for folder in ["one", "two"] {
      try workspace.makeFolder(workspace.inbox.appending(folder))
      try workspace.put("same", as: BytePath("\(folder)/a.txt"))
    }
    try workspace.json("run")
    let outcome = try workspace.json("export", "--to", "out")
    #expect(outcome.of("exported").first?["exported"] == 1)
    #expect(outcome.of("exported").first?["present"] == 1)
    #expect(try exported(workspace) == ["a.txt"])
    let again = try workspace.json("export", "--to", "out")
    #expect(again.of("exported").first?["present"] == 2)
    // If the file can't be written, none of them has been exported.
    let digest = try #require(try workspace.assets().first?["digest"]?.string)
    try workspace.remove(BytePath("library/originals/\(digest.prefix(2))/\(digest)"))
    let failed = try workspace.run("export", "--to", "new", "--json")
    #expect(failed.exitCode == 3)
    #expect(try failed.event("exported")["failed"] == 2)
    #expect(try exported(workspace, "new") == [])
  }

  @Test("A repeated export finds its files although a damaged one comes back")
  func repaired() throws {
    let workspace = try library()
    let first = try #require(try workspace.assets().first { $0["name"] == "a.txt" })
    let digest = try #require(first["digest"]?.string)
    let path = "library/originals/\(digest.prefix(2))/\(digest)"
    let bytes = try workspace.read(BytePath(path))
    try workspace.damage(BytePath(path), [])
    #expect(try workspace.run("export", "--to", "out").exitCode == 3)
    let before = try exported(workspace)
    try workspace.damage(BytePath(path), bytes)
    let outcome = try workspace.json("export", "--to", "out").of("exported").first
    #expect(outcome?["exported"] == 1 && outcome?["present"] == 3)
    #expect(try exported(workspace).count == before.count + 1)
  }

  @Test("A folder for staged files that others may write to is refused")
  func planted() throws {
    let workspace = try library()
    try Unprivileged.shell("mkdir out; mkdir -m 777 out/.pipeline-export", in: workspace)
    let outcome = try workspace.run("export", "--to", "out")
    #expect(
      outcome.exitCode == 1 && outcome.errors.contains("Others may write"), "\(outcome.errors)")
    // A list that is none ends it, too, and leaves nothing behind.
    try Unprivileged.shell("rmdir out/.pipeline-export; echo notes > out/SHA256SUMS", in: workspace)
    #expect(try workspace.run("export", "--to", "out").exitCode == 1)
    #expect(try workspace.files(below: "out") == ["SHA256SUMS"])
    #expect(!workspace.exists("out/.pipeline-export"))
  }

  @Test("A dry run fails where the export would")
  func dryRunFails() throws {
    let workspace = try library()
    try Unprivileged.shell("mkdir out; echo x > out/file; ln -s ../inbox out/link", in: workspace)
    for layout in ["file/{name}", "link/{name}"] {
      for more: [BytePath] in [["--dry-run"], []] {
        let words: [BytePath] = ["export", "name:b", "--to", "out", "--layout", BytePath(layout)]
        #expect(try workspace.program.run(words + more).exitCode == 3, "\(layout) \(more)")
      }
    }
    let words: [BytePath] = [
      "export", "name:b", "--to", ".", "--layout", "inbox/{name}", "--dry-run",
    ]
    #expect(try workspace.program.run(words).exitCode == 3)
    for path in try workspace.files(below: "library/originals") {
      try workspace.remove(BytePath("library/originals").appending(path))
    }
    #expect(try workspace.run("export", "--to", "out", "--dry-run").exitCode == 3)
  }

  @Test(
    "A full disk ends the export with a sentence, and the same one goes on after making room",
    .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
  func full() throws {
    let disk = try MemoryDisk("size=6m")
    let workspace = try Workspace(
      sources: Workspace.inboxOnly, stages: [["name": "identify", "plugin": "identify"]],
      ["reserve": "0B"])
    for index in 0..<8 {
      try workspace.put(
        [UInt8](repeating: UInt8(index), count: 1 << 20), as: BytePath("\(index).bin"))
    }
    try workspace.json("run")
    workspace.program.prefix = Array(disk.prefix.dropLast()) + [workspace.root.description]
    let target = disk.folder.path.appending("out")
    let outcome = try workspace.program.run(["export", "--to", target])
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors.contains("make room"), "\(outcome.errors)")
    try disk.remount("size=64m")
    let again = try workspace.program.run(["export", "--to", target, "--json"])
    #expect(again.exitCode == 0, "\(again.errors)")
    let counts = try again.event("exported")
    #expect((counts["exported"]?.integer ?? 0) + (counts["present"]?.integer ?? 0) == 8)
    let shell = "cd '\(disk.seen(target))' && sha256sum --check --strict SHA256SUMS"
    try Unprivileged.shell(shell, in: workspace)
  }
}

extension BytePath {
  fileprivate static func + (left: BytePath, right: BytePath) -> BytePath {
    BytePath(bytes: left.bytes + right.bytes)
  }
}
