import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Manifest
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Edits that keep size and time", .timeLimit(.minutes(1)))
struct DisguisedEditTests {
  /// Changes bytes and sets the time back.
  private func edit(_ fixture: IngestFixture, _ name: BytePath, to text: String) throws {
    let before = try fixture.identity(name)
    let file = try Descriptor.open(fixture.path(name), flags: O_WRONLY)
    try file.write(Array(text.utf8))
    try file.setModified(before.modified)
    let after = try file.status().identity
    try #require(after.isSameFile(as: before) && after.changed != before.changed)
  }

  @Test("The edited file of a copied source is taken, and supersedes what it was")
  func taken() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    let first = try #require(try fixture.run()["a"]?.asset)
    try edit(fixture, "a", to: "two")
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().map(\.supersedes) == [nil, first])
    #expect(try fixture.run().isEmpty)
  }

  @Test("Other permissions alone are read about once, and nothing is told or copied")
  func permissions() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    let facts = try fixture.library().manifest.lastSequence
    try Descriptor.open(fixture.path("a"), flags: O_RDONLY).setPermissions(0o600)
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.library().manifest.lastSequence == facts)
    #expect(try fixture.sighting("a")?.identity == fixture.identity("a"))
    #expect(try fixture.sighting("a")?.state == .imported)
  }

  @Test("A file that was away and comes back edited is taken")
  func back() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    try fixture.run()
    let folder = try Descriptor.openFolder(fixture.temporary.path)
    try Descriptor.openFolder(fixture.source.path).rename("a", to: folder, as: "away")
    #expect(try fixture.outcomes() == ["a": .gone])
    try folder.rename("away", to: try Descriptor.openFolder(fixture.source.path), as: "a")
    try edit(fixture, "a", to: "two")
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().count == 2)
  }

  @Test("A file that is named to import is always read")
  func named() throws {
    let fixture = try IngestFixture(.copy)
    try fixture.write("one", to: "a")
    #expect(try fixture.importFile(fixture.path("a"))?.outcome == .imported)
    let again = try #require(try fixture.importFile(fixture.path("a")))
    #expect(again.outcome == .duplicate && again.reason?.contains("has not changed") == true)
    try edit(fixture, "a", to: "two")
    // As if the kernel's time did not tell.
    var sighting = try #require(try fixture.sighting("a"))
    sighting.identity = try fixture.identity("a")
    try fixture.library().catalog.apply([.sighting(sighting)], manifestPosition: 0)
    #expect(try fixture.importFile(fixture.path("a"))?.outcome == .imported)
    #expect(try fixture.assets().count == 2)
  }
}
