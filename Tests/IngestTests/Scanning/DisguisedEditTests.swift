import Catalog
import Configuration
import Files
import Fixtures
import Glibc
import Manifest
import PipelineModel
import Testing

@testable import Ingest

@Suite("Edits that keep size and time", .timeLimit(.minutes(1)))
struct DisguisedEditTests {
  /// Changes bytes and sets the time back.
  private func edit(_ scene: Scene, _ name: BytePath, to text: String) throws {
    let before = try scene.identity(name)
    let file = try Descriptor.open(scene.path(name), flags: O_WRONLY)
    try file.write(Array(text.utf8))
    try file.setModified(before.modified)
    let after = try file.status().identity
    try #require(after.isSameFile(as: before) && after.changed != before.changed)
  }

  @Test("The edited file of a copied source is taken, and supersedes what it was")
  func taken() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    let first = try #require(try scene.run()["a"]?.asset)
    try edit(scene, "a", to: "two")
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.assets().map(\.supersedes) == [nil, first])
    #expect(try scene.run().isEmpty)
  }

  @Test("Other permissions alone are read about once, and nothing is told or copied")
  func permissions() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    let facts = try scene.library().manifest.lastSequence
    try Descriptor.open(scene.path("a"), flags: O_RDONLY).setPermissions(0o600)
    #expect(try scene.run().isEmpty)
    #expect(try scene.library().manifest.lastSequence == facts)
    #expect(try scene.sighting("a")?.identity == scene.identity("a"))
    #expect(try scene.sighting("a")?.state == .imported)
  }

  @Test("A file that was away and comes back edited is taken")
  func back() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    try scene.run()
    let folder = try Descriptor.openFolder(scene.temporary.path)
    try Descriptor.openFolder(scene.source.path).rename("a", to: folder, as: "away")
    #expect(try scene.outcomes() == ["a": .gone])
    try folder.rename("away", to: try Descriptor.openFolder(scene.source.path), as: "a")
    try edit(scene, "a", to: "two")
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.assets().count == 2)
  }

  @Test("A file that is named to import is always read")
  func named() throws {
    let scene = try Scene(.copy)
    try scene.write("one", to: "a")
    #expect(try scene.importFile(scene.path("a"))?.outcome == .imported)
    let again = try #require(try scene.importFile(scene.path("a")))
    #expect(again.outcome == .duplicate && again.reason?.contains("has not changed") == true)
    try edit(scene, "a", to: "two")
    // As if the kernel's time did not tell.
    var sighting = try #require(try scene.sighting("a"))
    sighting.identity = try scene.identity("a")
    try scene.library().catalog.apply([.sighting(sighting)], manifestPosition: 0)
    #expect(try scene.importFile(scene.path("a"))?.outcome == .imported)
    #expect(try scene.assets().count == 2)
  }
}
