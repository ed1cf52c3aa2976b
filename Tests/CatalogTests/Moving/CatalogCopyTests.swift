import Fixtures
import Foundation
import PipelineModel
import PostgreSQL
import Records
import Testing

@testable import Catalog

/// A catalog that moves to PostgreSQL, and back.
@Suite(
  "A catalog that moves", .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct CatalogCopyTests {
  private func makeDatabase() throws -> CatalogPlace {
    .database(try PostgreSQLServer.shared.makeDatabase(PostgreSQLServer.alphabetical))
  }

  private func connect(_ place: CatalogPlace) throws -> Connection {
    try Connection.reading(place)
  }

  @Test("Each table and column of one database is in the other, or is known to be its own")
  func tables() throws {
    let library = try Library()
    let (file, database) = (library.place, try makeDatabase())
    try Catalog.create(at: database, libraryID: Library.id).close()
    let (sqlite, postgreSQL) = (try connect(file), try connect(database))
    let inFile = try sqlite.all(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ) { $0.text(0) }
    #expect(Set(inFile) == Set(CatalogTable.names) && inFile.count > 20)
    let inDatabase = try postgreSQL.all(
      "SELECT tablename FROM pg_tables WHERE schemaname = 'pipeline'"
    ) { $0.text(0) }
    #expect(Set(inDatabase) == Set(CatalogTable.names).union(CatalogTable.onlyOnServer))
    #expect(CatalogTable.onlyOnServer.isDisjoint(with: inFile))
    for (one, other) in zip(
      try CatalogTable.all(in: sqlite), try CatalogTable.all(in: postgreSQL))
    {
      func types(_ table: CatalogTable) -> [String: SQLType] {
        Dictionary(
          uniqueKeysWithValues: table.columns.map {
            ($0.name, $0.type == .boolean ? .integer : $0.type)
          })
      }
      #expect(one.name == other.name)
      #expect(types(one) == types(other), "\(one.name)")
    }
  }

  @Test("It comes back as it went: each row of each table, and all numbers that were given")
  func thereAndBack() throws {
    let library = try MovingLibrary().library
    try library.close()
    let before = try Library.dump(library.place)
    for (table, rows) in before { #expect(!rows.isEmpty, "nothing tests \(table)") }
    let (database, file) = (try makeDatabase(), try library.makePlace())
    let there = try move(library.place, to: database)
    #expect(there.lost == 0 && there.renditions == 9 && there.assets == before["asset"]?.count)
    let back = try move(database, to: file)
    #expect(back.lost == 0 && back.renditions == 9 && back.rows == there.rows)
    let after = try Library.dump(file)
    #expect(after.keys.sorted() == before.keys.sorted())
    for (table, rows) in before {
      #expect(after[table]?.count == rows.count, "\(table)")
      let difference = zip(after[table] ?? [], rows).first { $0 != $1 }
      #expect(difference?.0 == difference?.1, "\(table)")
    }
  }

  @Test("In PostgreSQL each view has the same rows, and all follows from the facts")
  func views() throws {
    let library = try MovingLibrary().library
    try library.close()
    let database = try makeDatabase()
    try move(library.place, to: database)
    let moved = try Library(opening: database)
    let catalog = try Catalog.open(at: library.place, libraryID: Library.id)
    defer { try? catalog.close() }
    for (view, columns) in CatalogViews.all {
      let expected = try CatalogViews.rows(catalog, view, columns)
      let found = try CatalogViews.rows(moved.catalog, view, columns)
      #expect(!expected.isEmpty && expected.count == found.count, "\(view)")
      let difference = zip(expected, found).first { $0 != $1 }
      #expect(difference?.0 == difference?.1, "\(view)")
    }
    #expect(try moved.integrity() == "ok")
    #expect(try moved.catalog.manifestPosition == catalog.manifestPosition)
    // Numbers go on where they were.
    let numbers = try #require(try Library.dump(library.place)["sqlite_sequence"])
    let row = try #require(numbers.first { $0.hasPrefix("'attempt', ") })
    let job = try #require(
      try moved.catalog.claim(stage: "thumbnails", limit: 1, suspects: false).first)
    #expect("'attempt', \(job.token.rawValue - 1)" == row)
  }

  @Test("Its schema is that of any other: nothing that was taken away to copy is missing")
  func schema() throws {
    let library = try MovingLibrary().library
    try library.close()
    let (moved, fresh) = (try makeDatabase(), try makeDatabase())
    try move(library.place, to: moved)
    try Catalog.create(at: fresh, libraryID: Library.id).close()
    func schema(_ place: CatalogPlace) throws -> [String] {
      let connection = try connect(place)
      defer { connection.close() }
      return try connection.all(
        """
        SELECT CAST(CAST(conrelid AS regclass) AS varchar) || conname || pg_get_constraintdef(pg_constraint.oid)
        FROM pg_constraint
          WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pipeline')
        UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index
          WHERE CAST(CAST(indrelid AS regclass) AS varchar) NOT LIKE 'pg_%'
        UNION ALL SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger WHERE NOT tgisinternal
        ORDER BY 1
        """
      ) { $0.text(0) }
    }
    let expected = try schema(fresh)
    #expect(try schema(moved) == expected && expected.contains { $0.contains("FOREIGN KEY") })
  }

  @Test("U+0000 becomes U+FFFD in texts, also in one that then is like another; facts keep it")
  func null() throws {
    let library = try MovingLibrary(hasNull: true).library
    try library.execute("INSERT INTO term (text, folded) VALUES ('a' || char(0), 'a' || char(0))")
    try library.execute("INSERT INTO term (text, folded) VALUES ('a\u{FFFD}', 'a\u{FFFD}')")
    try library.execute(
      "INSERT INTO term (text, folded) VALUES ('a\u{FFFD}\u{FFFD}', 'a\u{FFFD}\u{FFFD}')")
    try library.close()
    let (database, file) = (try makeDatabase(), try library.makePlace())
    try move(library.place, to: database)
    let moved = try Library(opening: database)
    #expect(
      try moved.count("SELECT count(*) FROM term WHERE text LIKE 'a\u{FFFD}%'") == 3)
    #expect(try moved.count("SELECT count(*) FROM ledger WHERE facts LIKE '%nul\\\\u0000nul%'") > 0)
    try moved.close()
    try move(database, to: file)
    let (before, after) = (try Library.dump(library.place), try Library.dump(file))
    for (table, rows) in before where table != "term" && table != "picture" {
      #expect(after[table] == rows, "\(table)")
    }
  }

  @Test("Bytes of renditions that are missing or damaged are told, and become due again")
  func lostRenditions() throws {
    let library = try MovingLibrary().library
    try library.close()
    let kept = try Connection(library.renditionFile, mode: .write, of: .renditions)
    let ids = try kept.all("SELECT id FROM rendition WHERE length(content) >= 1000 ORDER BY id") {
      $0.int64(0)
    }
    try kept.execute("DELETE FROM rendition WHERE id = ?", ids[0])
    try kept.execute(
      "UPDATE rendition SET content = zeroblob(length(content)) WHERE id = ?", ids[3])
    kept.close()
    let (database, file) = (try makeDatabase(), try library.makePlace())
    let there = try move(library.place, to: database)
    #expect(there.lost == 2 && there.renditions == 7)
    let moved = try Library(opening: database)
    #expect(try moved.count("SELECT count(*) FROM rendition_bytes") == 7)
    #expect(try moved.catalog.remakeLostRenditions().count == 2)
    while try moved.catalog.remakeLostRenditions().hasMore {}
    #expect(try moved.count("SELECT count(*) FROM rendition WHERE path IS NULL") == 7)
    #expect(
      try moved.count(
        "SELECT count(*) FROM ledger JOIN stage ON stage.fingerprint = ledger.fingerprint "
          + "WHERE stage.name = 'thumbnails' AND ledger.state = 'ready'") >= 2)
    // And back, to where a former file has bytes under the same names.
    try moved.execute(
      "DELETE FROM rendition_bytes WHERE rendition = (SELECT max(id) FROM rendition)")
    try moved.execute(
      "UPDATE rendition_bytes SET content = content || content WHERE rendition = (SELECT min(rendition) FROM rendition_bytes)"
    )
    try moved.close()
    guard case .file(let path) = file else { return }
    try FileManager.default.copyItem(
      atPath: library.renditionFile.description,
      toPath: path.parent.appending("renditions.sqlite").description)
    let back = try move(database, to: file)
    #expect(back.lost == 2 && back.renditions == 5)
    let returned = try Library(opening: file)
    #expect(try returned.catalog.remakeLostRenditions().count == 2)
    try returned.close()
  }

  @Test("What is not to be moved is refused, and stays as it was")
  func refusals() throws {
    let library = try MovingLibrary().library
    let database = try makeDatabase()
    try library.execute("PRAGMA user_version = 13")
    try library.close()
    func refusal() -> CatalogError? {
      #expect(throws: CatalogError.self) { try move(library.place, to: database) }
    }
    #expect(refusal()?.message.contains("pipeline run") == true)
    try library.change("PRAGMA user_version = 14")
    let other = "0190b5a4-0000-7000-8000-000000000002"
    try library.change("UPDATE setting SET value = '\(other)' WHERE key = 'library'")
    #expect(refusal()?.code == .corrupt)
    try library.change("UPDATE setting SET value = '\(Library.id)' WHERE key = 'library'")
    // A row that refers to none.
    try library.change(
      "PRAGMA foreign_keys = OFF; INSERT INTO keyword (picture, position, term) VALUES (1, 99, 123456)"
    )
    #expect(refusal()?.message.contains("keyword") == true)
    let connection = try connect(database)
    #expect(try !connection.hasRow("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'pipeline%'"))
    try library.change("DELETE FROM keyword WHERE position = 99")
    try move(library.place, to: database)
    // The other database's own catalog.
    try library.change("UPDATE setting SET value = '\(other)' WHERE key = 'library'")
    #expect(throws: CatalogError.self) {
      _ = try Catalog.create(at: database, libraryID: other, isDraft: true)
    }
  }

  @Test("While it is held, nobody else takes or changes it; a lost connection is noticed")
  func held() throws {
    let library = try MovingLibrary().library
    try library.close()
    guard case .database(let address) = try makeDatabase() else { return }
    try move(library.place, to: .database(address))
    let proxy = try DatabaseProxy(to: address)
    let source = try CatalogSource(.database(proxy.address), libraryID: Library.id)
    #expect(throws: CatalogError.self) {
      _ = try Catalog.open(at: .database(address), libraryID: Library.id)
    }
    let connection = try connect(.database(address))
    #expect(
      try connection.first("SELECT pg_try_advisory_lock(\(Schema.applicationID), 2)") { $0.int(0) }
        == 0)
    try source.requireHeld()
    // Whoever waits for the turn does not take it for stalled, however slow what takes its rows is.
    try source.connection.executeScript("BEGIN; SELECT 1")
    let ending = try #require(connection.postgreSQL).endingStalledTurns(after: .zero)
    let waiting = try PostgreSQLConnection(address, applicationName: "tests")
    defer { waiting.close() }
    #expect(try waiting.execute(ending).rowCount == 0)
    try source.connection.executeScript("COMMIT")
    try source.requireHeld()
    proxy.cut(.beforeCommit)
    try? source.connection.transaction { () throws(CatalogError) in
      try source.connection.executeScript("SELECT 1")
    }
    let error = #expect(throws: CatalogError.self) { try source.requireHeld() }
    #expect(error?.message.contains("move it again") == true)
    // Others may have changed it meanwhile, so it keeps its name.
    #expect(throws: CatalogError.self) { try source.setAside() }
    #expect(try Catalog.libraryID(of: .database(address)) == Library.id)
  }

  @Test("A process beside counts while its presence is being made anew, until its pulse is over")
  func beside() throws {
    let library = try MovingLibrary().library
    try library.close()
    let database = try makeDatabase()
    try move(library.place, to: database)
    let connection = try connect(database)
    func add(_ id: Int, pulse: String) throws {
      try connection.executeScript(
        """
        INSERT INTO pipeline.participant
          (id, taker, node, process, verb, version, state, joined_at, renewed_at, expires_at)
        VALUES (\(id), FALSE, 'elsewhere', 1, 'work', '1', 'active', now(), now(), now() + interval '\(pulse)')
        """)
    }
    let reader = try CatalogReader.open(at: database, immutable: false)
    defer { try? reader.close() }
    try add(7, pulse: "-1 second")
    #expect(try reader.participantBeside() == nil)
    try add(8, pulse: "1 hour")
    #expect(try reader.participantBeside()?.id == 8)
  }

  @Test("A copy that is stopped leaves nothing behind")
  func stopped() throws {
    let library = try MovingLibrary().library
    try library.close()
    let database = try makeDatabase()
    let source = try CatalogSource(library.place, libraryID: Library.id)
    defer { source.close() }
    let draft = try Catalog.create(at: database, libraryID: Library.id, isDraft: true)
    var pages = 0
    let copy = CatalogCopy(from: source, to: draft) {
      pages > 5
    } progress: { _ in
      pages += 1
    }
    let error = #expect(throws: CatalogError.self) { _ = try copy.run() }
    #expect(error?.code == .interrupted)
    try draft.discardDraft()
    let connection = try connect(database)
    #expect(try !connection.hasRow("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'pipeline%'"))
  }
}

extension Library {
  /// Runs SQL on the file of a catalog that is closed.
  fileprivate func change(_ sql: String) throws {
    let connection = try Connection(file, mode: .write)
    defer { connection.close() }
    try connection.executeScript(sql)
  }
}
