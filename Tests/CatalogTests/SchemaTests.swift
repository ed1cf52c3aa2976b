import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("The schema", .timeLimit(.minutes(2)))
struct SchemaTests {
  @Test("A new catalog has the pragmas that its promises rest on")
  func pragmas() throws {
    let library = try Library()
    func value(_ pragma: String) throws -> String {
      try library.catalog.read { (connection) throws(CatalogError) in
        try connection.first("PRAGMA \(pragma)") { $0.text(0) } ?? ""
      }
    }
    #expect(try value("journal_mode") == "wal" && value("synchronous") == "2")
    #expect(try value("foreign_keys") == "1" && value("trusted_schema") == "0")
    #expect(try value("mmap_size") == "0" && value("cell_size_check") == "1")
    #expect(try value("secure_delete") == "0")
    #expect(try value("application_id") == String(Schema.applicationID))
    #expect(try value("user_version") == "\(Schema.version)")
    #expect(try library.integrity() == "ok")
  }

  @Test("A migration keeps the rows, renews the views and counts up")
  func migration() throws {
    let library = try Library()
    try library.add([Samples.asset(1)])
    let next = Schema.migrations + ["ALTER TABLE asset ADD COLUMN rating INTEGER"]
    try library.catalog.write { (writer) throws(CatalogError) in
      try Schema.migrate(writer.connection, from: Schema.version, through: next)
    }
    #expect(try library.count("PRAGMA user_version") == next.count)
    #expect(try library.count("SELECT count(*) FROM assets") == 1)
    #expect(try library.count("SELECT count(*) FROM asset WHERE rating IS NULL") == 1)
    #expect(try library.integrity() == "ok")
  }

  @Test("A catalog of version 1 is brought up to date when it is opened, and then has the view")
  func fromVersion1() throws {
    let folder = try Library().folder.deletingLastPathComponent()
    let file = BytePath(folder.appending(path: "catalog-tests-\(UUID().uuidString).sqlite").path)
    defer { try? FileManager.default.removeItem(atPath: file.description) }
    let old = try Connection(file, mode: .create)
    try old.sqlite?.prepareWriting()
    try old.transaction { () throws(CatalogError) in
      try Schema.migrate(old, from: 0, through: [Schema.version1])
      // As version 1 had it.
      try old.executeScript("DROP VIEW metadata")
      try old.execute(Setting.write, Setting.library, Library.id)
      try old.execute(Setting.write, Setting.manifestPosition, "0")
      try old.execute("INSERT INTO original (digest, size) VALUES (zeroblob(32), 1)")
    }
    #expect(try old.first("PRAGMA user_version") { $0.int(0) } == 1)
    old.close()
    let catalog = try Catalog.open(at: file, libraryID: Library.id)
    try catalog.read { (connection) throws(CatalogError) in
      func count(_ sql: String) throws(CatalogError) -> Int? {
        try connection.first(sql) { $0.int(0) }
      }
      #expect(try count("PRAGMA user_version") == Schema.version)
      #expect(try count("SELECT count(*) FROM metadata") == 0)
      #expect(try count("SELECT count(*) FROM original") == 1)
    }
    try catalog.close()
  }

  @Test("A migration that fails leaves everything as it was")
  func failedMigration() throws {
    let library = try Library()
    #expect(throws: CatalogError.self) {
      try library.catalog.write { (writer) throws(CatalogError) in
        try Schema.migrate(
          writer.connection, from: Schema.version,
          through: Schema.migrations + ["CREATE TABLE rating (value INTEGER) STRICT; CREATE TABLE"])
      }
    }
    #expect(try library.count("SELECT count(*) FROM sqlite_schema WHERE name = 'rating'") == 0)
    #expect(try library.count("PRAGMA user_version") == Schema.version)
    #expect(try library.count("SELECT count(*) FROM assets") == 0)
  }

  @Test("A newer catalog is refused and nothing is written")
  func newerVersion() throws {
    let library = try Library()
    try library.add([Samples.asset(1)])
    try library.execute("PRAGMA user_version = 99")
    try library.close()
    let before = try Data(contentsOf: library.folder.appending(path: "catalog.sqlite"))
    for attempt in [
      { _ = try Catalog.open(at: library.file, libraryID: Library.id) },
      { _ = try CatalogReader.open(at: library.file, immutable: false) },
      { _ = try CatalogReader.open(at: library.file, immutable: true) },
    ] {
      let error = #expect(throws: CatalogError.self) { try attempt() }
      #expect(error?.code == .newerVersion)
      #expect(error?.message.contains("version 99") == true)
    }
    #expect(try Data(contentsOf: library.folder.appending(path: "catalog.sqlite")) == before)
  }

  @Test("A missing, foreign, damaged or mistaken catalog is refused with advice")
  func refusals() throws {
    let library = try Library()
    try library.close()
    func code(_ name: String, _ content: Data?) throws -> CatalogError? {
      let url = library.folder.appending(path: name)
      try content?.write(to: url)
      return #expect(throws: CatalogError.self) {
        _ = try Catalog.open(at: BytePath(url.path), libraryID: Library.id)
      }
    }
    var whole = try Data(contentsOf: library.folder.appending(path: "catalog.sqlite"))
    let missing = try code("none.sqlite", nil)
    #expect(missing?.code == .missing)
    #expect(missing?.message.contains("pipeline rebuild-catalog") == true)
    #expect(try code("no/folder.sqlite", nil)?.code == .missing)
    #expect(try code("empty.sqlite", Data())?.code == .missing)
    let text = try code("text.sqlite", Data(repeating: 65, count: 5_000))
    #expect(text?.code == .corrupt)
    #expect(text?.message.contains("pipeline rebuild-catalog") == true)
    for index in 4_096..<12_288 { whole[index] = 0xAB }
    #expect(try code("damaged.sqlite", whole)?.code == .corrupt)
    let other = #expect(throws: CatalogError.self) {
      _ = try Catalog.open(at: library.file, libraryID: "another")
    }
    #expect(other?.code == .corrupt && other?.message.contains("another") == true)
  }

  @Test("A foreign database is not touched")
  func foreignDatabase() throws {
    let library = try Library()
    try library.close()
    let file = BytePath(library.folder.path).appending("foreign.sqlite")
    let connection = try Connection(file, mode: .create)
    try connection.executeScript("CREATE TABLE mine (a)")
    connection.close()
    let before = try Data(contentsOf: URL(filePath: file.description))
    #expect(throws: CatalogError.self) { _ = try Catalog.open(at: file, libraryID: Library.id) }
    #expect(throws: CatalogError.self) { _ = try Catalog.create(at: file, libraryID: Library.id) }
    #expect(throws: CatalogError.self) { _ = try Catalog.create(at: library.file, libraryID: "x") }
    #expect(try Data(contentsOf: URL(filePath: file.description)) == before)
  }

  @Test("A catalog may lie at any path, and an interrupted creation is taken over")
  func anyPath() throws {
    let library = try Library()
    let name = Array("a?b#c%20 \u{1}\n".utf8) + [0xFF, 0xFE]
    let file = BytePath(library.folder.path).appending(BytePath(bytes: name))
    // What is left where `create` is killed before its transaction.
    let begun = try Connection(file, mode: .create)
    try begun.sqlite?.prepareWriting()
    begun.close()
    let catalog = try Catalog.create(at: file, libraryID: "x")
    try catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    try catalog.close()
    let again = try Catalog.open(at: file, libraryID: "x")
    #expect(try again.newestAssetID() == Samples.id(1))
    try again.close()
  }

  @Test(
    "What can't be is refused by the tables",
    arguments: [
      "UPDATE asset SET id = x'00'", "UPDATE original SET digest = x'0011'",
      "UPDATE original SET size = -1", "UPDATE ledger SET state = 'lost'",
      "UPDATE ledger SET state = 'done'", "UPDATE ledger SET state = 'failed'",
      "UPDATE ledger SET state = 'skipped'", "UPDATE ledger SET blocked = 1",
      "UPDATE ledger SET attempts = -1", "UPDATE sighting SET state = 'lost'",
      "UPDATE sighting SET inode = NULL", "UPDATE sighting SET awaits_removal = 2",
      "UPDATE job SET previous_ledger = ledger", "UPDATE asset SET imported_at = 'now'",
      "UPDATE fingerprint SET value = x''", "UPDATE source SET path = x''",
    ])
  func checks(sql: String) throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add([Samples.asset(1)])
    try library.catalog.apply(
      [
        .sighting(
          Sighting(
            source: Samples.source, path: BytePath("a"), state: .imported,
            identity: FileIdentity(inode: 1, size: 1, modified: 1, changed: 1),
            seenAt: Samples.start))
      ], manifestPosition: 2)
    let error = #expect(throws: CatalogError.self) { try library.execute(sql) }
    #expect(error?.code == .database)
    // The connection is usable, and nothing of it was kept.
    #expect(try library.integrity() == "ok")
    try library.add([Samples.asset(2)])
  }
}
