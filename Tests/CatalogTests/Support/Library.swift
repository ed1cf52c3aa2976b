import Fixtures
import Foundation
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// A catalog in a unique temporary folder, which goes with it.
final class Library {
  let folder: URL
  /// Where the catalog is: by default where `TestedDatabase` says.
  let place: CatalogPlace
  private(set) var catalog: Catalog
  private var isOpen = true
  static let id = "0190b5a4-0000-7000-8000-000000000001"

  convenience init() throws {
    var place: CatalogPlace?
    if TestedDatabase.current == .postgreSQL {
      place = .database(
        try PostgreSQLServer.shared.makeDatabase(PostgreSQLServer.alphabetical))
    }
    try self.init(at: place) { try Catalog.create(at: $0, libraryID: Self.id) }
  }

  /// - Parameters:
  ///   - place: where the catalog is; by default a file in the folder.
  ///   - open: makes or opens it.
  init(at place: CatalogPlace?, _ open: (CatalogPlace) throws -> Catalog) throws {
    folder = FileManager.default.temporaryDirectory.appending(
      path: "catalog-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.place = place ?? .file(Self.file(in: folder))
    catalog = try open(self.place)
  }

  deinit {
    try? close()
    try? FileManager.default.removeItem(at: folder)
  }

  static func file(in folder: URL) -> BytePath { BytePath(folder.path).appending("catalog.sqlite") }

  var file: BytePath { Self.file(in: folder) }

  func close() throws {
    guard isOpen else { return }
    isOpen = false
    try catalog.close()
  }

  /// As if the process had ended and begun again.
  func reopen() throws {
    try close()
    catalog = try Catalog.open(at: place, libraryID: Self.id)
    isOpen = true
  }

  /// Records assets, each with a sighting.
  func add(_ assets: [NewAsset]) throws {
    let position = try catalog.manifestPosition + Int64(assets.count)
    try catalog.apply(assets.map { .asset($0) }, manifestPosition: position)
  }

  /// Reads with a connection of its own.
  func read<Value>(_ body: (CatalogReader) throws -> Value) throws -> Value {
    let reader = try CatalogReader.open(at: place, immutable: false)
    defer { try? reader.close() }
    return try body(reader)
  }

  /// Runs SQL on the writing connection.
  @discardableResult
  func execute(_ sql: String) throws -> Int {
    try catalog.write { (writer) throws(CatalogError) in try writer.connection.changes(sql) }
  }

  /// Reads one number with the writing connection.
  func count(_ sql: String) throws -> Int {
    try catalog.read { (connection) throws(CatalogError) in
      try connection.first(sql) { $0.int(0) } ?? -1
    }
  }

  /// What `PRAGMA integrity_check` and `foreign_key_check` say, which rows for searches and which groups
  /// don't follow from the facts, and which revisions and counters are wrong; `ok` if all is well.
  ///
  /// - Parameter isPrepared: whether there must be a row for each asset, and counters.
  func integrity(isPrepared: Bool = true) throws -> String {
    let problems = try catalog.read { (connection) throws(CatalogError) in
      // PostgreSQL checks both by itself.
      let isSQLite = connection.dialect == .sqlite
      let foreign = try isSQLite ? connection.all("PRAGMA foreign_key_check") { $0.text(0) } : []
      let pages = try isSQLite ? connection.all("PRAGMA integrity_check") { $0.text(0) } : ["ok"]
      let revisions = try connection.all(
        """
        SELECT 'revision ' || number FROM revision
          WHERE removed = EXISTS (SELECT 1 FROM asset WHERE id = revision.asset)
        UNION ALL SELECT 'unnumbered ' || hex(asset) FROM temp.changed
        """
      ) { $0.text(0) }
      let counters = try isPrepared ? Self.wrongCounters(connection) : []
      return foreign.map { "foreign key of \($0)" } + pages + revisions + counters
    }
    return (problems + (isPrepared ? try outdatedPictures() + outdatedGroups() : [])).joined(
      separator: ", ")
  }

  /// The counters that would be others if everything were counted anew.
  func wrongCounters() throws -> [String] {
    try catalog.read { (connection) throws(CatalogError) in try Self.wrongCounters(connection) }
  }

  private static func wrongCounters(_ connection: Connection) throws(CatalogError) -> [String] {
    func counters(_ sql: String) throws(CatalogError) -> Set<String> {
      Set(
        try connection.all(sql) {
          "\($0.text(0)) \($0.int(1)) \($0.text(2)): \($0.int(3)), \($0.int(4))"
        }.filter { !$0.hasSuffix(": 0, 0") })
    }
    guard try Counters.areComplete(connection) else { return ["not counted"] }
    let kept = try counters("SELECT kind, owner, state, rows, amount FROM counter")
    let made = try counters(Counters.selection)
    return kept.subtracting(made).map { "counted \($0)" }
      + made.subtracting(kept).map { "not counted \($0)" }
  }

  /// The rows of `picture` that would be others if they were made anew.
  private func outdatedPictures() throws -> [String] {
    let isComplete = try catalog.read { (connection) throws(CatalogError) in
      try PictureProgress.read(connection) == .complete
    }
    guard isComplete else { return ["not prepared for searches"] }
    let misfolded = try catalog.read { (connection) throws(CatalogError) in
      try connection.all("SELECT text, folded FROM term") { ($0.text(0), $0.text(1)) }
        .filter { TextFolding.fold($0.0) != $0.1 }
    }
    let kept = try pictures()
    try execute("INSERT INTO temp.outdated (asset) SELECT id FROM asset")
    let made = try pictures()
    return zip(kept, made).filter { $0 != $1 }.map { "\($0.0) is \($0.1)" }
      + misfolded.map { "\($0.0) folded as \($0.1)" }
      + (kept.count == made.count ? [] : ["\(kept.count) pictures of \(made.count)"])
  }

  /// The members of groups that would be others if these were formed anew.
  private func outdatedGroups() throws -> [String] {
    guard try count("SELECT count(*) FROM setting WHERE key = '\(Setting.groupProgress)'") == 0
    else {
      return ["groups are not complete"]
    }
    let kept = try members()
    // Away with them, so that none is kept for want of a reason to change it.
    try execute("DELETE FROM member")
    try execute("DELETE FROM frame")
    try execute("DELETE FROM sign")
    try execute("INSERT INTO temp.outdated (asset) SELECT id FROM asset")
    try execute("INSERT INTO temp.regrouped (asset) SELECT id FROM asset")
    let made = try members()
    return kept == made ? [] : ["groups are \(kept), not \(made)"]
  }

  private func members() throws -> [String] {
    try makeQuote()
    return try catalog.read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT hex(asset) || ' ' || hex(leader) || ' ' || kinds || ' ' || role || ' '
          || ifnull(hex(sidecar), '') || ' ' || quote(link) || quote(own_leader) || quote(own_kinds)
          FROM member
        UNION ALL SELECT 'frame ' || hex(asset) || ' ' || hex(cover) || ' ' || quote(sign) FROM frame
        UNION ALL SELECT 'sign ' || hex(asset) || kind || quote(value) || movie || cover || frames
          || quote(taken) || quote(camera) FROM sign
        UNION ALL SELECT 'marked ' || kind FROM temp.signed
        ORDER BY 1
        """
      ) { $0.text(0) }
    }
  }

  /// SQL that finds the names of a table's columns.
  static func columns(of table: String, _ connection: Connection) -> String {
    connection.text(
      sqlite: "SELECT name FROM pragma_table_info('\(table)')",
      postgreSQL: """
        SELECT CAST(column_name AS varchar) FROM information_schema.columns
        WHERE table_name = '\(table)' AND table_schema = 'pipeline' ORDER BY ordinal_position
        """)
  }

  /// Makes the function `quote`, which SQLite has.
  func makeQuote() throws {
    try catalog.write { (writer) throws(CatalogError) in
      guard writer.connection.dialect == .postgreSQL else { return }
      try writer.connection.executeScript(
        """
        CREATE OR REPLACE FUNCTION quote(anyelement) RETURNS text LANGUAGE sql IMMUTABLE AS
          $$ SELECT coalesce($1::text, 'NULL') $$
        """)
    }
  }

  /// The rows of `picture` with their terms, keywords and albums.
  private func pictures() throws -> [String] {
    try makeQuote()
    return try catalog.read { (connection) throws(CatalogError) in
      let columns = try connection.all(Self.columns(of: "picture", connection)) { $0.text(0) }
        .filter { $0 != "number" }
      let terms = ["source", "type", "camera", "lens"].map {
        "(SELECT text FROM term WHERE id = picture.\($0))"
      }
      let values = (columns.map { "picture.\($0)" } + terms).map { "quote(\($0))" }
      let lists = ["keyword", "album"].map {
        """
        ifnull((SELECT group_concat(text, '|') FROM (SELECT term.text FROM \($0) AS list
          JOIN term ON term.id = list.term WHERE list.picture = picture.number ORDER BY position)), '')
        """
      }
      return try connection.all(
        "SELECT \((values + lists).joined(separator: " || ' ' || ")) FROM picture ORDER BY asset"
      ) { $0.text(0) }
    }
  }
}
