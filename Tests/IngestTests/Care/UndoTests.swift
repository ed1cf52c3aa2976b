import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Testing

@Suite("Giving a run's imports back", .timeLimit(.minutes(1)))
struct UndoTests {
  /// A file's mode, time and content.
  private struct Look: Equatable {
    let text: String
    let permissions: UInt32
    let modified: Int64
  }

  private func look(_ scene: Scene, _ name: BytePath) throws -> Look {
    let folder = try scene.folder(of: name)
    let status = try folder.status(of: name.lastComponent)
    return Look(
      text: String(decoding: try folder.readFile(name.lastComponent), as: UTF8.self),
      permissions: status.permissions, modified: status.identity.modified)
  }

  private func setTime(_ scene: Scene, _ name: BytePath, _ time: Int64) throws {
    try Descriptor.open(name.lastComponent, in: scene.folder(of: name), flags: O_WRONLY)
      .setModified(time)
  }

  @Test("Moved files come back with name, bytes, mode and time, and are not taken again")
  func moved() throws {
    let scene = try Scene()
    let raw = BytePath(bytes: [0x64, 0xFF, 0x2F, 0x0A, 0xFE])
    try scene.write("one", to: "a", permissions: 0o600)
    try scene.write("two", to: raw, permissions: 0o664)
    try setTime(scene, "a", 981_173_106_123_456_789)
    let before = try (look(scene, "a"), look(scene, raw))
    let inode = try scene.identity("a").inode
    let run = try scene.recordedRun()
    #expect(!scene.exists("a") && !scene.exists(raw))
    // Its folder was removed meanwhile.
    try scene.folder(of: "x").removeFolder(raw.parent)
    let events = try scene.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .returned, raw: .returned])
    #expect(try (look(scene, "a"), look(scene, raw)) == before)
    #expect(try scene.identity("a").inode == inode)
    #expect(try scene.assets().isEmpty && filesBelow(scene.layout.originals).isEmpty)
    #expect(try scene.problems().isEmpty)
    for name in ["a", raw] { #expect(try scene.sighting(name)?.state == .returned) }
    #expect(try scene.run().isEmpty)
    #expect(try scene.undo(run).isEmpty)
    // What changes is taken, and what is named to `import`.
    try scene.write("changed", to: "a")
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.importFile(scene.path(raw))?.outcome == .imported)
    #expect(try scene.problems().isEmpty)
  }

  @Test("A copied file that is still there is left alone, wherever it is by now")
  func left() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.write("two", to: "b")
    let run = try scene.recordedRun()
    try #require(rename("\(scene.path("b"))", "\(scene.path("c"))") == 0)
    try scene.run()
    let before = try (scene.identity("a"), scene.identity("c"))
    let events = try scene.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .returned, "c": .returned])
    #expect(try (scene.identity("a"), scene.identity("c")) == before)
    #expect(try filesBelow(scene.source.path).count == 2)
    #expect(try scene.assets().isEmpty)
    // The bytes wait for the garbage collection, which is no problem.
    #expect(try filesBelow(scene.layout.originals).count == 2 && scene.problems().isEmpty)
    #expect(try scene.run().isEmpty)
  }

  @Test("A path that is taken is not replaced, and its asset stays until it is free")
  func taken() throws {
    let scene = try Scene()
    for name: BytePath in ["a", "b", "c"] { try scene.write("\(name)", to: name) }
    let run = try scene.recordedRun()
    try scene.write("newcomer", to: "a")
    try scene.folder(of: "b").makeFolder("b")
    let events = try scene.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .failed, "b": .failed, "c": .returned])
    #expect(events["a"]?.reason?.contains("nothing was replaced") == true)
    #expect(try look(scene, "a").text == "newcomer")
    #expect(try scene.assets().map(\.name) == ["a", "b"] && scene.problems().isEmpty)
    try scene.remove("a")
    #expect(try scene.undo(run).mapValues(\.outcome) == ["a": .returned, "b": .failed])
    #expect(try look(scene, "a").text == "a")
  }

  @Test("Where another asset has the same bytes they are copied, with mode and time")
  func shared() throws {
    let scene = try Scene(duplicates: .asset)
    try scene.write("same", to: "a")
    let first = try scene.recordedRun()
    try scene.write("same", to: "b", permissions: 0o604)
    try scene.write("same", to: "c")
    try setTime(scene, "b", -1_500_000_000)
    let before = try look(scene, "b")
    let second = try scene.recordedRun()
    let events = try scene.undo(second)
    #expect(events.mapValues(\.outcome) == ["b": .returned, "c": .returned])
    #expect(try look(scene, "b") == before)
    #expect(try scene.assets().map(\.name) == ["a"] && scene.problems().isEmpty)
    #expect(try filesBelow(scene.source.path).keys.sorted() == ["b", "c"])
    #expect(try scene.undo(first).mapValues(\.outcome) == ["a": .returned])
    #expect(try filesBelow(scene.layout.originals).isEmpty && scene.problems().isEmpty)
  }

  @Test("A damaged or missing original is not given back")
  func damaged() throws {
    let scene = try Scene()
    try scene.write("one", to: "a")
    try scene.write("two", to: "b")
    let run = try scene.recordedRun()
    try scene.spoil("one")
    try #require(unlink("\(scene.original("two"))") == 0)
    let events = try scene.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .failed, "b": .failed])
    #expect(!scene.exists("a") && !scene.exists("b"))
    #expect(try scene.assets().count == 2)
  }

  @Test("A rebuilt catalog knows runs, what was returned, and what is in the trash")
  func rebuilt() throws {
    let scene = try Scene()
    for name: BytePath in ["a", "b", "c"] { try scene.write("\(name)", to: name) }
    let first = try scene.recordedRun()
    try scene.write("d", to: "d")
    let second = try scene.recordedRun()
    _ = try Trash(library: scene.library(), report: scene.report).trash([scene.assets()[0].id])
    try scene.undo(second)
    let expected = try scene.assets()
    #expect(expected.map(\.state) == [.trashed, .done, .done])
    _ = try scene.rebuild()
    #expect(try scene.assets() == expected)
    #expect(try scene.sighting("d")?.state == .returned)
    #expect(try scene.run().isEmpty)
    let reader = try scene.library().reader
    #expect(try reader.run(first)?.verb == RunRecord.unknownVerb)
    #expect(try reader.lastImportingRun() == second)
    #expect(try scene.undo(first).count == 3)
    #expect(try scene.assets().isEmpty && scene.problems().isEmpty)
    _ = try scene.rebuild()
    #expect(try scene.assets().isEmpty && scene.problems().isEmpty && scene.run().isEmpty)
  }

  @Test("Duplicates that stayed are returned with their run, or taken by the next one")
  func duplicates() throws {
    let scene = try Scene(duplicates: .keep)
    try scene.write("same", to: "a")
    try scene.write("same", to: "b")
    let first = try scene.recordedRun()
    try scene.write("same", to: "c")
    try scene.recordedRun()
    try scene.undo(first)
    #expect(try scene.sighting("b")?.state == .returned)
    #expect(try scene.outcomes() == ["c": .imported])
    #expect(try scene.problems().isEmpty)
  }
}
