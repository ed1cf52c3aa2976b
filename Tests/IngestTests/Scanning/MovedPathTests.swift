import Configuration
import Files
import Fixtures
import Ingest
import PipelineModel
import Testing

@testable import Catalog

/// Paths of moved files, which have no rows: their assets speak for them.
@Suite("Paths of moved files", .timeLimit(.minutes(1)))
struct MovedPathTests {
  /// A library that took a file from a path, and that file's asset.
  private func scene() throws -> (Scene, AssetID) {
    let scene = try Scene(.move)
    try scene.write("one", to: "a")
    let asset = try #require(try scene.run()["a"]?.asset)
    #expect(try rows(scene) == 0)
    #expect(try scene.sighting("a")?.asset == asset)
    return (scene, asset)
  }

  private func rows(_ scene: Scene) throws -> Int {
    try scene.library().catalog.read { (connection) throws(CatalogError) in
      try connection.first("SELECT count(*) FROM sighting") { $0.int(0) } ?? -1
    }
  }

  @Test(
    "A new file at such a path is taken; where files are copied by now, it supersedes the old one",
    arguments: SourceConfiguration.Mode.allCases)
  func newFile(mode: SourceConfiguration.Mode) throws {
    let (scene, first) = try scene()
    scene.source.mode = mode
    try scene.write("two", to: "a")
    #expect(try scene.outcomes() == ["a": .imported])
    #expect(try scene.assets().map(\.supersedes) == [nil, mode == .copy ? first : nil])
    #expect(try scene.run().isEmpty)
    #expect(try scene.problems().isEmpty)
  }

  @Test("The same bytes at such a path are a duplicate, and what can't be taken has the old asset")
  func sameBytes() throws {
    let (scene, first) = try scene()
    try scene.write("one", to: "a")
    let again = try #require(try scene.run()["a"])
    #expect(again.outcome == .duplicate && again.asset == first)
    #expect(!scene.exists("a"))
    let (other, asset) = try self.scene()
    try other.write("", to: "a")
    let empty = try #require(try other.run()["a"])
    #expect(empty.outcome == .rejected && empty.asset == asset)
  }

  @Test("What is named to import at such a path is compared with the old asset")
  func named() throws {
    let (scene, first) = try scene()
    try scene.write("one", to: "a")
    let same = try #require(try scene.importFile(scene.path("a")))
    #expect(same.outcome == .duplicate && same.asset == first)
    #expect(same.reason == "Its bytes have not changed.")
    #expect(try scene.sighting("a")?.state == .imported)
    let (other, old) = try self.scene()
    try other.write("two", to: "a")
    #expect(try other.importFile(other.path("a"))?.outcome == .imported)
    #expect(try other.assets().last?.supersedes == old)
  }

  @Test("After a rebuild the first run settles such paths a part at a time")
  func rebuilt() throws {
    let scene = try Scene(.move)
    let count = 600
    for number in 0..<count { try scene.write("file \(number)", to: BytePath("\(number)")) }
    try scene.run()
    _ = try scene.rebuild()
    #expect(try rows(scene) == count)
    scene.report.commits = 0
    #expect(try scene.run().isEmpty)
    #expect(scene.report.commits == 2)
    #expect(try rows(scene) == 0)
    #expect(try scene.library().reader.status().sightings == [.imported: count])
  }

  // MARK: Rows that older versions kept

  /// A library with such a row, as it is when it is opened.
  private func olderScene() throws -> Scene {
    let (scene, _) = try scene()
    try scene.library().catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(
        """
        INSERT INTO sighting (source, path, state, asset, seen_at)
          SELECT source, path, 'imported', id, imported_at FROM asset;
        INSERT INTO setting (key, value) VALUES ('\(Setting.impliedSightings)', '');
        """)
    }
    scene.close()
    return scene
  }

  @Test("A run removes rows that older versions kept, unless it is to end")
  func leftRows() throws {
    let scene = try olderScene()
    let known = try scene.sighting("a")
    let stopped = Ingest(into: try scene.library(), report: scene.report, isStopped: { true })
    #expect(try stopped.take([scene.source]).isEmpty)
    #expect(try rows(scene) == 1)
    #expect(try scene.run().isEmpty)
    #expect(try rows(scene) == 0)
    #expect(known != nil)
    #expect(try scene.sighting("a") == known)
  }
}
