import Fixtures
import Foundation
import PipelineModel
import Testing

/// Disks that are full, in every sense.
@Suite(
  "Faults: no room", .timeLimit(.minutes(10)),
  .enabled(if: MemoryDisk.isPossible, "This user may not mount in a namespace (unshare -Urm)."))
struct SpaceTests {
  private static func source(_ path: BytePath) -> JSONValue {
    [["path": .string(path.description), "settle": "0ms", "mode": "move"]]
  }

  private static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
  }

  @Test("No room for an original: the file stays, a message says what is free, the rest is taken")
  func original() throws {
    let source = try TemporaryFolder()
    let disk = try MemoryDisk("size=6m")
    let workspace = try Workspace(
      sources: Self.source(source.path), ["reserve": "0B"], on: disk)
    try workspace.put(Self.noise(8 << 20), as: "large.bin", in: source.path)
    try workspace.put("small", as: "small.txt", in: source.path)
    let full = try workspace.run("run", "--json")
    #expect(full.exitCode == 1)
    #expect(try full.events().outcome("small.txt") == "imported")
    #expect(try full.events().outcome("large.bin") != "imported")
    let message = try full.event("error")["message"]?.string
    #expect(message?.contains("free") == true && message?.contains("\(workspace.library)") == true)
    #expect(try workspace.files(below: source.path) == ["large.bin"])
    try workspace.expectSound()
    try disk.remount("size=64m")
    #expect(try workspace.json("run").outcome("large.bin") == "imported")
    #expect(try workspace.files(below: source.path) == [])
    try workspace.expectSound()
  }

  @Test("No room for the catalog's commit: the run stops, the next one heals")
  func catalog() throws {
    let disk = try MemoryDisk("size=480k,mode=700")
    let workspace = try Workspace([
      "catalog": .string(disk.folder.path.description), "reserve": "0B",
    ])
    workspace.program.prefix = Array(disk.prefix.dropLast()) + [workspace.root.description]
    for index in 0..<600 {
      let name = BytePath(String(repeating: "n", count: 200) + "\(index)")
      try workspace.put("file \(index)", as: name)
    }
    let failed = try workspace.run("run", "--json")
    #expect(failed.exitCode == 1)
    let message = try #require(try failed.event("error")["message"]?.string)
    #expect(message.contains("full") || message.contains("free"), "\(message)")
    try disk.remount("size=64m")
    let run = try workspace.run("run")
    #expect(run.exitCode == 0, "\(run.errors)")
    #expect(try workspace.assets().count == 600)
    #expect(try workspace.files(below: "inbox") == [])
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test(
    "No inodes left: what can't be taken stays in its folder, and is taken later",
    .about(.originals))
  func inodes() throws {
    let source = try TemporaryFolder()
    let disk = try MemoryDisk("size=64m,nr_inodes=70")
    let workspace = try Workspace(sources: Self.source(source.path), on: disk)
    for index in 0..<40 {
      try workspace.put("file \(index)", as: BytePath("\(index)"), in: source.path)
    }
    let failed = try workspace.run("run", "--json")
    #expect([1, 3].contains(failed.exitCode), "\(failed.output)\(failed.errors)")
    #expect(failed.output.contains("No space left"), "\(failed.output)")
    #expect(try !workspace.files(below: source.path).isEmpty)
    try disk.remount("size=64m,nr_inodes=10000")
    let run = try workspace.run("run")
    #expect(run.exitCode == 0, "\(run.errors)")
    #expect(try workspace.files(below: source.path) == [])
    #expect(try workspace.assets().count == 40)
    try workspace.expectSound()
  }
}
