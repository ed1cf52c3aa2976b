import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Libraries that are missing, damaged or out of reach.
@Suite("Libraries", .timeLimit(.minutes(10)))
struct LibraryTests {
  @Test("A folder without library.json is no library and is left alone")
  func noMarker() throws {
    let workspace = try Workspace()
    try workspace.makeFolder(workspace.library)
    try workspace.put("text", as: "a.txt")
    for words: [BytePath] in [["run"], ["list"], ["import", "inbox/a.txt"], ["rebuild-catalog"]] {
      let outcome = try workspace.program.run(words + ["--json"])
      #expect(outcome.exitCode == 1)
      #expect(try outcome.event("error")["message"]?.string?.contains("library.json") == true)
    }
    #expect(try workspace.files(below: "library") == [])
    #expect(try workspace.files(below: "inbox") == ["a.txt"])
  }

  @Test("A library without its catalog is refused, and rebuilt with the same keys")
  func rebuild() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 140, height: 100), as: "a.jpg")
    try workspace.put("text", as: BytePath(bytes: [0x62, 0xFE]))
    try workspace.put("text", as: "duplicate.txt")
    try workspace.json("run")
    let before = try workspace.state()
    let keys = try workspace.assets().map { $0["id"] }
    try workspace.removeCatalog()
    try workspace.put("later", as: "later.txt")
    for words: [BytePath] in [["run"], ["list"], ["verify"], ["status"]] {
      let outcome = try workspace.program.run(words)
      #expect(outcome.exitCode == 1 && outcome.output == "", "\(words[0])")
      #expect(outcome.errors.contains("rebuild-catalog"), "\(words[0])")
    }
    #expect(!workspace.exists("library/catalog.sqlite") && workspace.exists("inbox/later.txt"))
    #expect(try workspace.json("rebuild-catalog").first?["assets"] == 2)
    #expect(try workspace.assets().map { $0["id"] } == keys)
    try workspace.remove("inbox/later.txt")
    try workspace.json("run")
    #expect(try workspace.state() == before)
    // Rebuilding an intact one keeps the old catalog aside, and nothing else changes.
    #expect(try workspace.json("rebuild-catalog").first?["oldCatalog"]?.string != nil)
    try workspace.json("run")
    #expect(try workspace.assets().map { $0["id"] } == keys)
    #expect(try workspace.state() == before)
  }

  @Test("A damaged or missing original is found, and healed by its good bytes")
  func damage() throws {
    let workspace = try Workspace()
    try workspace.put("precious", as: "a.txt")
    try workspace.put("also precious", as: "b.txt")
    try workspace.json("run")
    let paths = try workspace.files(below: "library/originals").map {
      workspace.library.appending("originals").appending($0)
    }
    let first = try #require(paths.first { (try? workspace.read($0)) == Array("precious".utf8) })
    let second = try #require(paths.first { $0 != first })
    try workspace.damage(first, Array("Precious".utf8))
    try workspace.remove(second)
    let problems = try workspace.json("verify", exit: 3)
    #expect(
      Set(problems.of("problem").map { $0["kind"]?.string }) == [
        "original-damaged", "original-missing",
      ])
    #expect(problems.summary["problems"] == 2 && problems.summary["checked"]?.integer != 0)
    let id = BytePath(try #require(try workspace.asset(named: "a.txt")["id"]?.string))
    #expect(try workspace.run("get", id, "-o", "out.txt").exitCode == 1)
    #expect(!workspace.exists("out.txt"))
    try workspace.put("precious", as: "again.txt")
    try workspace.put("also precious", as: "again too.txt")
    #expect(try workspace.json("run").summary["duplicates"] == 2)
    #expect(try workspace.read(first) == Array("precious".utf8))
    #expect(try workspace.files(below: "library/damaged").count == 1)
    #expect(try workspace.assets().count == 2)
    try workspace.expectSound()
  }

  @Test(
    "sha256sum alone can check the originals, which are read-only and the owner's",
    .about(.originals))
  func withoutProgram() throws {
    let workspace = try Workspace()
    for index in 0..<4 { try workspace.put("file \(index)", as: BytePath("\(index)")) }
    try workspace.json("run")
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.currentDirectoryURL = URL(fileURLWithPath: workspace.library.description)
    shell.arguments = [
      "-c",
      """
      test "$(find originals -type f | wc -l)" = 4 &&
      find originals -type f | sed 's|.*/\\(.*\\)|\\1  &|' | sha256sum --check --status &&
      test -z "$(find originals -type f -perm /222)" && test "$(stat -c %a .)" = 700
      """,
    ]
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
  }

  @Test("A library of a later format is refused and not touched")
  func newer() throws {
    let workspace = try Workspace()
    try workspace.put("text", as: "a.txt")
    try workspace.json("run")
    let marker = String(decoding: try workspace.read("library/library.json"), as: UTF8.self)
    try workspace.write(
      Array(marker.replacing(#/"format"\s*:\s*\d+/#, with: "\"format\": 99").utf8),
      to: "library/library.json")
    try workspace.put("more", as: "b.txt")
    let outcome = try workspace.run("run", "--json")
    #expect(outcome.exitCode == 1)
    #expect(try outcome.event("error")["code"] == "newerVersion")
    #expect(workspace.exists("inbox/b.txt"))
    try workspace.write(Array(marker.utf8), to: "library/library.json")
    try workspace.json("run")
    try workspace.expectSound()
  }
}
