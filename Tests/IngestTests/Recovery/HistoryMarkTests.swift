import Catalog
import Configuration
import Files
import Fixtures
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Catalog and manifest of one history", .timeLimit(.minutes(1)))
struct HistoryMarkTests {
  /// The bytes of the manifest's one segment.
  private func segment(_ fixture: IngestFixture) throws -> [UInt8] {
    try Descriptor.openFolder(fixture.layout.manifest).readFile("0001.jsonl")
  }

  @Test("A manifest that has as many facts and other ones is refused, and a rebuild goes by it")
  func otherHistory() throws {
    let fixture = try IngestFixture()
    try fixture.write("one", to: "a")
    try fixture.run()
    fixture.close()
    let older = try segment(fixture)
    try fixture.write("two", to: "b")
    try fixture.run()
    fixture.close()
    let catalog = try Descriptor.openFolder(fixture.layout.root).readFile("catalog.sqlite")
    // The older backup is restored with a catalog of its own, and used.
    try Descriptor.openFolder(fixture.layout.manifest).writeDurably(older, as: "0001.jsonl")
    _ = try fixture.rebuild()
    try fixture.write("three", to: "c")
    try fixture.run()
    fixture.close()
    // And the catalog of the other disk comes back.
    try Descriptor.openFolder(fixture.layout.root).writeDurably(catalog, as: "catalog.sqlite")
    let error = try #require(throws: IngestError.self) { try fixture.library() }
    #expect(error.code == .catalog && error.message.contains("another history"))
    fixture.close()
    _ = try fixture.rebuild()
    #expect(try fixture.assets().map(\.name) == ["a", "c"])
  }

  @Test("A catalog that is behind its manifest after a kill has the same history")
  func behind() throws {
    let fixture = try IngestFixture()
    try fixture.write("one", to: "a")
    try fixture.run()
    fixture.close()
    let catalog = try Descriptor.openFolder(fixture.layout.root).readFile("catalog.sqlite")
    try fixture.write("two", to: "b")
    try fixture.run()
    fixture.close()
    try Descriptor.openFolder(fixture.layout.root).writeDurably(catalog, as: "catalog.sqlite")
    #expect(try fixture.assets().map(\.name) == ["a", "b"])
  }
}
