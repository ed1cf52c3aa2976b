import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Testing

@testable import Ingest

@Suite("Catalog and manifest of one history", .timeLimit(.minutes(1)))
struct HistoryMarkTests {
  /// The bytes of the manifest's one segment.
  private func segment(_ scene: Scene) throws -> [UInt8] {
    try Descriptor.openFolder(scene.layout.manifest).readFile("0001.jsonl")
  }

  @Test("A manifest that has as many facts and other ones is refused, and a rebuild goes by it")
  func otherHistory() throws {
    let scene = try Scene()
    try scene.write("one", to: "a")
    try scene.run()
    scene.close()
    let older = try segment(scene)
    try scene.write("two", to: "b")
    try scene.run()
    scene.close()
    let catalog = try Descriptor.openFolder(scene.layout.root).readFile("catalog.sqlite")
    // The older backup is restored with a catalog of its own, and used.
    try Descriptor.openFolder(scene.layout.manifest).writeDurably(older, as: "0001.jsonl")
    _ = try scene.rebuild()
    try scene.write("three", to: "c")
    try scene.run()
    scene.close()
    // And the catalog of the other disk comes back.
    try Descriptor.openFolder(scene.layout.root).writeDurably(catalog, as: "catalog.sqlite")
    let error = try #require(throws: IngestError.self) { try scene.library() }
    #expect(error.code == .catalog && error.message.contains("another history"))
    scene.close()
    _ = try scene.rebuild()
    #expect(try scene.assets().map(\.name) == ["a", "c"])
  }

  @Test("A catalog that is behind its manifest after a kill has the same history")
  func behind() throws {
    let scene = try Scene()
    try scene.write("one", to: "a")
    try scene.run()
    scene.close()
    let catalog = try Descriptor.openFolder(scene.layout.root).readFile("catalog.sqlite")
    try scene.write("two", to: "b")
    try scene.run()
    scene.close()
    try Descriptor.openFolder(scene.layout.root).writeDurably(catalog, as: "catalog.sqlite")
    #expect(try scene.assets().map(\.name) == ["a", "b"])
  }
}
