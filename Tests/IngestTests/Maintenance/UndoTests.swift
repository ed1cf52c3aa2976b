import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Ingest
import Manifest
import PipelineModel
import Records
import Testing

@Suite("Giving a run's imports back", .timeLimit(.minutes(1)))
struct UndoTests {
  /// A file's mode, time and content.
  private struct Look: Equatable {
    let text: String
    let permissions: UInt32
    let modified: Int64
  }

  private func look(_ fixture: IngestFixture, _ name: BytePath) throws -> Look {
    let folder = try fixture.folder(of: name)
    let status = try folder.status(of: name.lastComponent)
    return Look(
      text: String(decoding: try folder.readFile(name.lastComponent), as: UTF8.self),
      permissions: status.permissions, modified: status.identity.modified)
  }

  private func setTime(_ fixture: IngestFixture, _ name: BytePath, _ time: Int64) throws {
    try Descriptor.open(name.lastComponent, in: fixture.folder(of: name), flags: O_WRONLY)
      .setModified(time)
  }

  @Test("Moved files come back with name, bytes, mode and time, and are not taken again")
  func moved() throws {
    let fixture = try IngestFixture()
    let raw = BytePath(bytes: [0x64, 0xFF, 0x2F, 0x0A, 0xFE])
    try fixture.write("one", to: "a", permissions: 0o600)
    try fixture.write("two", to: raw, permissions: 0o664)
    try setTime(fixture, "a", 981_173_106_123_456_789)
    let before = try (look(fixture, "a"), look(fixture, raw))
    let inode = try fixture.identity("a").inode
    let run = try fixture.recordedRun()
    #expect(!fixture.exists("a") && !fixture.exists(raw))
    // Its folder was removed meanwhile.
    try fixture.folder(of: "x").removeFolder(raw.parent)
    let events = try fixture.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .returned, raw: .returned])
    #expect(try (look(fixture, "a"), look(fixture, raw)) == before)
    #expect(try fixture.identity("a").inode == inode)
    #expect(try fixture.assets().isEmpty && filesBelow(fixture.layout.originals).isEmpty)
    #expect(try fixture.problems().isEmpty)
    for name in ["a", raw] { #expect(try fixture.sighting(name)?.state == .returned) }
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.undo(run).isEmpty)
    // What changes is taken, and what is named to `import`.
    try fixture.write("changed", to: "a")
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.importFile(fixture.path(raw))?.outcome == .imported)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("A copied file that is still there is left alone, wherever it is by now")
  func left() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.write("two", to: "b")
    let run = try fixture.recordedRun()
    try #require(rename("\(fixture.path("b"))", "\(fixture.path("c"))") == 0)
    try fixture.run()
    let before = try (fixture.identity("a"), fixture.identity("c"))
    let events = try fixture.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .returned, "c": .returned])
    #expect(try (fixture.identity("a"), fixture.identity("c")) == before)
    #expect(try filesBelow(fixture.source.path).count == 2)
    #expect(try fixture.assets().isEmpty)
    // The bytes wait for the garbage collection, which is no problem.
    #expect(try filesBelow(fixture.layout.originals).count == 2 && fixture.problems().isEmpty)
    #expect(try fixture.run().isEmpty)
  }

  @Test("A path that is taken is not replaced, and its asset stays until it is free")
  func taken() throws {
    let fixture = try IngestFixture()
    for name: BytePath in ["a", "b", "c"] { try fixture.write("\(name)", to: name) }
    let run = try fixture.recordedRun()
    try fixture.write("newcomer", to: "a")
    try fixture.folder(of: "b").makeFolder("b")
    let events = try fixture.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .failed, "b": .failed, "c": .returned])
    #expect(events["a"]?.reason?.contains("nothing was replaced") == true)
    #expect(try look(fixture, "a").text == "newcomer")
    #expect(try fixture.assets().map(\.name) == ["a", "b"] && fixture.problems().isEmpty)
    try fixture.remove("a")
    #expect(try fixture.undo(run).mapValues(\.outcome) == ["a": .returned, "b": .failed])
    #expect(try look(fixture, "a").text == "a")
  }

  @Test("Where another asset has the same bytes they are copied, with mode and time")
  func shared() throws {
    let fixture = try IngestFixture(duplicates: .asset)
    try fixture.write("same", to: "a")
    let first = try fixture.recordedRun()
    try fixture.write("same", to: "b", permissions: 0o604)
    try fixture.write("same", to: "c")
    try setTime(fixture, "b", -1_500_000_000)
    let before = try look(fixture, "b")
    let second = try fixture.recordedRun()
    let events = try fixture.undo(second)
    #expect(events.mapValues(\.outcome) == ["b": .returned, "c": .returned])
    #expect(try look(fixture, "b") == before)
    #expect(try fixture.assets().map(\.name) == ["a"] && fixture.problems().isEmpty)
    #expect(try filesBelow(fixture.source.path).keys.sorted() == ["b", "c"])
    #expect(try fixture.undo(first).mapValues(\.outcome) == ["a": .returned])
    #expect(try filesBelow(fixture.layout.originals).isEmpty && fixture.problems().isEmpty)
  }

  @Test("A damaged or missing original is not given back")
  func damaged() throws {
    let fixture = try IngestFixture()
    try fixture.write("one", to: "a")
    try fixture.write("two", to: "b")
    let run = try fixture.recordedRun()
    try fixture.spoil("one")
    try #require(unlink("\(fixture.original("two"))") == 0)
    let events = try fixture.undo(run)
    #expect(events.mapValues(\.outcome) == ["a": .failed, "b": .failed])
    #expect(!fixture.exists("a") && !fixture.exists("b"))
    #expect(try fixture.assets().count == 2)
  }

  @Test("A rebuilt catalog knows runs, what was returned, and what is in the trash")
  func rebuilt() throws {
    let fixture = try IngestFixture()
    for name: BytePath in ["a", "b", "c"] { try fixture.write("\(name)", to: name) }
    let first = try fixture.recordedRun()
    try fixture.write("d", to: "d")
    let second = try fixture.recordedRun()
    _ = try Trash(library: fixture.library(), report: fixture.report).trash([fixture.assets()[0].id]
    )
    try fixture.undo(second)
    let expected = try fixture.assets()
    #expect(expected.map(\.state) == [.trashed, .done, .done])
    _ = try fixture.rebuild()
    #expect(try fixture.assets() == expected)
    #expect(try fixture.sighting("d")?.state == .returned)
    #expect(try fixture.run().isEmpty)
    let reader = try fixture.library().reader
    #expect(try reader.run(first)?.verb == RunRecord.unknownVerb)
    #expect(try reader.lastImportingRun() == second)
    #expect(try fixture.undo(first).count == 3)
    #expect(try fixture.assets().isEmpty && fixture.problems().isEmpty)
    _ = try fixture.rebuild()
    #expect(try fixture.assets().isEmpty && fixture.problems().isEmpty && fixture.run().isEmpty)
  }

  @Test("Duplicates that stayed are returned with their run, or taken by the next one")
  func duplicates() throws {
    let fixture = try IngestFixture(duplicates: .keep)
    try fixture.write("same", to: "a")
    try fixture.write("same", to: "b")
    let first = try fixture.recordedRun()
    try fixture.write("same", to: "c")
    try fixture.recordedRun()
    try fixture.undo(first)
    #expect(try fixture.sighting("b")?.state == .returned)
    #expect(try fixture.outcomes() == ["c": .imported])
    #expect(try fixture.problems().isEmpty)
  }
}
