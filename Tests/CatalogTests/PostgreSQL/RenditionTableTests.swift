import Fixtures
import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

/// The bytes of renditions in PostgreSQL: the table `rendition_bytes`.
@Suite(
  "Bytes of renditions in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct RenditionTableTests {
  private func rendered(_ count: Int, _ names: [String] = ["grid"]) throws -> Library {
    try TestedDatabase.$current.withValue(.postgreSQL) { try Library.rendered(count, names) }
  }

  /// Makes all bytes again that are missing.
  private func remake(in library: Library) throws -> Int {
    var count = 0
    while true {
      let page = try library.catalog.remakeLostRenditions()
      count += page.count
      if !page.hasMore { return count }
    }
  }

  @Test("They are stored as they are, and no file is made")
  func storage() throws {
    let library = try rendered(2)
    #expect(
      try library.count(
        """
        SELECT count(*) FROM pg_attribute WHERE attname = 'content' AND attstorage = 'e'
          AND attrelid = CAST('rendition_bytes' AS regclass)
        """) == 1)
    #expect(try library.count("SELECT count(*) FROM rendition_bytes") == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: library.folder.path).isEmpty)
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    let bytes = try reader.storedRendition(1, most: 1 << 20).map { stored -> [UInt8] in
      // With the record, by the same statement.
      if case .bytes(let bytes) = stored.source { bytes } else { [] }
    }
    #expect(try bytes?.isEmpty == false && bytes == reader.renditionBytes(1))
    try reader.close()
  }

  /// What the table has, also without a row that names it.
  private func marks(in library: Library) throws -> [UInt8?] {
    try library.catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT content FROM rendition_bytes ORDER BY rendition") {
        $0.blob(0).last
      }
    }
  }

  @Test("A transaction that fails after they were stored leaves none, and none are lost by it")
  func transaction() throws {
    let library = try rendered(1)
    // The former result is served until the new one takes its place.
    try library.catalog.configure(Samples.stages(thumbnails: 3))
    try library.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(
        """
        CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE 'as if killed'; END $$;
        CREATE TRIGGER fault AFTER UPDATE ON ledger FOR EACH ROW WHEN (NEW.state = 'done')
          EXECUTE FUNCTION fault();
        """)
    }
    let former = try library.keptKeys()
    #expect(throws: CatalogError.self) { try library.render(["grid"], mark: 1) }
    #expect(try marks(in: library) == [0])
    #expect(try library.keptKeys() == former && library.namedKeys() == former)
    try library.execute("DROP TRIGGER fault ON ledger")
    try library.reopen()
    try library.catalog.configure(Samples.stages(thumbnails: 3))
    try library.render(["grid"], mark: 2)
    #expect(try marks(in: library) == [2])
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys() != former)
  }

  @Test("One of many MiB comes back as it was stored")
  func large() throws {
    let library = try rendered(1)
    var random = SeededRandom(seed: 7)
    for size in [5 << 20, 24 << 20] {
      let bytes = (0..<size / 8).flatMap { _ in
        withUnsafeBytes(of: random.next()) { Array($0) }
      }
      let id = try #require(try library.renditions().first?.id)
      try library.catalog.relocate(id, to: .database(bytes))
      #expect(try library.read { try $0.renditionBytes(id) } == bytes)
      #expect(try library.catalog.bytes(ofRendition: id) == bytes)
    }
  }

  @Test("Only those are made again that have no bytes, however many there are")
  func someLost() throws {
    let library = try rendered(100, ["a", "b", "c", "d", "e", "f", "g"])
    try library.execute("DELETE FROM rendition_bytes WHERE rendition % 3 = 0")
    try library.catalog.relocate(3, to: .file(path: "renditions/a"))
    let kept = try library.keptKeys()
    try library.catalog.write { (writer) throws(CatalogError) in
      try LostRenditions.note(in: writer.connection)
    }
    #expect(try remake(in: library) == 232)
    #expect(try library.keptKeys() == kept && kept.count == 467)
    #expect(try library.namedKeys() == kept)
  }

  @Test(
    "After a dump was restored without them they are made again",
    arguments: ["TRUNCATE rendition_bytes", "DELETE FROM rendition_bytes"])
  func lost(statement: String) throws {
    let library = try rendered(3, ["grid", "preview"])
    try library.catalog.relocate(1, to: .file(path: "renditions/a"))
    try library.execute(statement)
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    #expect(try library.read { try $0.renditionBytes(2) } == nil)
    // What is made before they are looked for does not hide the loss.
    try library.add([Samples.asset(4)])
    try library.render(["r"], stage: "identify")
    // Nor does a program that ends before they are looked for.
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    #expect(try remake(in: library) == 5)
    #expect(try library.keptKeys().map(\.name) == ["r"])
    #expect(try library.keptKeys() == library.namedKeys())
    try library.render(["grid", "preview"])
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count > 5)
    try library.reopen()
    #expect(try library.catalog.remakeLostRenditions() == (0, false))
    #expect(try library.integrity() == "ok")
  }

  @Test("Who works beside notes that the bytes are lost before it adds any")
  func lostBeside() throws {
    let library = try rendered(2)
    try library.execute("TRUNCATE rendition_bytes")
    try Catalog.openBeside(library.place, libraryID: Library.id).close()
    #expect(
      try library.count(
        "SELECT count(*) FROM setting WHERE key = '\(Setting.lostRenditions)'") == 1)
  }

  @Test("A catalog of version 1 gets the table once, and its renditions are made again")
  func migration() throws {
    let library = try rendered(3)
    try library.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(FormerSchema.version1)
    }
    let older = #expect(throws: CatalogError.self) { try library.read { _ in } }
    #expect(older?.message.contains("older version 1") == true)
    // Another library's is not touched.
    try library.close()
    let other = "0190b5a4-0000-7000-8000-000000000002"
    #expect(throws: CatalogError.self) { try Catalog.open(at: library.place, libraryID: other) }
    guard case .database(let address) = library.place else { return }
    let proxy = try DatabaseProxy(to: address)
    proxy.cut(.afterCommit)
    try Catalog.open(at: .database(proxy.address), libraryID: Library.id).close()
    #expect(proxy.cutCount == 1)
    try library.reopen()
    #expect(try library.count("SELECT version FROM schema_version") == PostgreSQLSchema.version)
    try library.catalog.configure(Samples.stages())
    #expect(try remake(in: library) == 3)
    try library.render(["grid"])
    #expect(try library.keptKeys() == library.namedKeys() && library.keptKeys().count == 3)
  }
}
