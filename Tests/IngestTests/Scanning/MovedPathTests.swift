import Configuration
import Files
import Fixtures
import Ingest
import PipelineModel
import Records
import Testing

@testable import Catalog

/// Paths of moved files, which have no rows: their assets speak for them.
@Suite("Paths of moved files", .timeLimit(.minutes(1)))
struct MovedPathTests {
  /// A library that took a file from a path, and that file's asset.
  private func fixture() throws -> (IngestFixture, AssetID) {
    let fixture = try IngestFixture(.move)
    try fixture.write("one", to: "a")
    let asset = try #require(try fixture.run()["a"]?.asset)
    #expect(try rows(fixture) == 0)
    #expect(try fixture.sighting("a")?.asset == asset)
    return (fixture, asset)
  }

  private func rows(_ fixture: IngestFixture) throws -> Int {
    try fixture.library().catalog.read { (connection) throws(CatalogError) in
      try connection.first("SELECT count(*) FROM sighting") { $0.int(0) } ?? -1
    }
  }

  @Test(
    "A new file at such a path is taken; where files are copied by now, it supersedes the old one",
    arguments: SourceConfiguration.Mode.allCases)
  func newFile(mode: SourceConfiguration.Mode) throws {
    let (fixture, first) = try fixture()
    fixture.source.mode = mode
    try fixture.write("two", to: "a")
    #expect(try fixture.outcomes() == ["a": .imported])
    #expect(try fixture.assets().map(\.supersedes) == [nil, mode == .copy ? first : nil])
    #expect(try fixture.run().isEmpty)
    #expect(try fixture.problems().isEmpty)
  }

  @Test("The same bytes at such a path are a duplicate, and what can't be taken has the old asset")
  func sameBytes() throws {
    let (fixture, first) = try fixture()
    try fixture.write("one", to: "a")
    let again = try #require(try fixture.run()["a"])
    #expect(again.outcome == .duplicate && again.asset == first)
    #expect(!fixture.exists("a"))
    let (other, asset) = try self.fixture()
    try other.write("", to: "a")
    let empty = try #require(try other.run()["a"])
    #expect(empty.outcome == .rejected && empty.asset == asset)
  }

  @Test("What is named to import at such a path is compared with the old asset")
  func named() throws {
    let (fixture, first) = try fixture()
    try fixture.write("one", to: "a")
    let same = try #require(try fixture.importFile(fixture.path("a")))
    #expect(same.outcome == .duplicate && same.asset == first)
    #expect(same.reason == "Its bytes have not changed.")
    #expect(try fixture.sighting("a")?.state == .imported)
    let (other, old) = try self.fixture()
    try other.write("two", to: "a")
    #expect(try other.importFile(other.path("a"))?.outcome == .imported)
    #expect(try other.assets().last?.supersedes == old)
  }

  @Test("After a rebuild the first run settles such paths a part at a time")
  func rebuilt() throws {
    let fixture = try IngestFixture(.move)
    let count = 600
    for number in 0..<count { try fixture.write("file \(number)", to: BytePath("\(number)")) }
    try fixture.run()
    _ = try fixture.rebuild()
    #expect(try rows(fixture) == count)
    fixture.report.commits = 0
    #expect(try fixture.run().isEmpty)
    #expect(fixture.report.commits == 2)
    #expect(try rows(fixture) == 0)
    #expect(try fixture.library().reader.status().sightings == [.imported: count])
  }

  // MARK: Rows that older versions kept

  /// A library with such a row, as it is when it is opened.
  private func olderScene() throws -> IngestFixture {
    let (fixture, _) = try fixture()
    try fixture.library().catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(
        """
        INSERT INTO sighting (source, path, state, asset, seen_at)
          SELECT source, path, 'imported', id, imported_at FROM asset;
        INSERT INTO setting (key, value) VALUES ('\(Setting.impliedSightings)', '');
        """)
    }
    fixture.close()
    return fixture
  }

  @Test("A run removes rows that older versions kept, unless it is to end")
  func leftRows() throws {
    let fixture = try olderScene()
    let known = try fixture.sighting("a")
    let stopped = Ingest(into: try fixture.library(), report: fixture.report, isStopped: { true })
    #expect(try stopped.importSources([fixture.source]).isEmpty)
    #expect(try rows(fixture) == 1)
    #expect(try fixture.run().isEmpty)
    #expect(try rows(fixture) == 0)
    #expect(known != nil)
    #expect(try fixture.sighting("a") == known)
  }
}
