import PostgreSQL
import Records

/// What moving a catalog asks its databases, and tells them.
extension Connection {
  /// The tables that move, with their rows.
  func movableRows() throws(CatalogError) -> [(table: String, rows: Int)] {
    var counts: [(String, Int)] = []
    for name in CatalogTable.names {
      counts.append((name, try first("SELECT count(*) FROM \(name)") { $0.int(0) } ?? 0))
    }
    return counts
  }

  /// How many renditions are not files.
  func keptRenditionCount() throws(CatalogError) -> Int {
    try first("SELECT count(*) FROM rendition WHERE path IS NULL") { $0.int(0) } ?? 0
  }

  /// Terms that are others' once U+0000 in them becomes U+FFFD, each with a text of its own: they get more of U+FFFD.
  func mergedTerms() throws(CatalogError) -> [Int64: String] {
    guard dialect == .sqlite else { return [:] }
    let broken = try all("SELECT id, text FROM term WHERE instr(text, char(0)) > 0 ORDER BY id") {
      (id: $0.int64(0), text: $0.text(1).withoutNull)
    }
    var taken: Set<String> = []
    var merged: [Int64: String] = [:]
    for (id, plain) in broken {
      var text = plain
      while true {
        let isTaken = try hasRow("SELECT 1 FROM term WHERE text = ?", text)
        guard isTaken || taken.contains(text) else { break }
        text += "\u{FFFD}"
      }
      taken.insert(text)
      if text != plain { merged[id] = text }
    }
    return merged
  }

  // MARK: References

  /// Takes away what keeps rows from referring to such as come later.
  ///
  /// - Returns: SQL that brings it back.
  func suspendReferences() throws(CatalogError) -> [String] {
    guard dialect == .postgreSQL else {
      try executeScript("PRAGMA foreign_keys = OFF")
      return []
    }
    let found = try all(
      """
      SELECT CAST(CAST(conrelid AS regclass) AS varchar), conname, pg_get_constraintdef(pg_constraint.oid)
      FROM pg_constraint WHERE contype = 'f'
        AND connamespace = (SELECT oid FROM pg_namespace WHERE nspname = '\(PostgreSQLSchema.draftName)')
      ORDER BY 1, 2
      """
    ) { (table: $0.text(0), name: $0.text(1), definition: $0.text(2)) }
    try transaction { () throws(CatalogError) in
      for reference in found {
        try executeScript("ALTER TABLE \(reference.table) DROP CONSTRAINT \(reference.name)")
      }
    }
    return found.map { "ALTER TABLE \($0.table) ADD CONSTRAINT \($0.name) \($0.definition)" }
  }

  /// Brings it back, which checks all rows.
  func restoreReferences(_ references: [String]) throws(CatalogError) {
    guard dialect == .postgreSQL else {
      guard let table = try first("PRAGMA foreign_key_check", read: { $0.text(0) }) else {
        return try executeScript("PRAGMA foreign_keys = ON")
      }
      throw CatalogError(
        .corrupt,
        "The table “\(table)” refers to rows that are not there, so nothing was moved. \(CatalogError.advice)",
        path: path)
    }
    try transaction { () throws(CatalogError) in
      for reference in references { try executeScript(reference) }
    }
  }
}

extension CatalogCopy {
  /// Has each table give the next row the number that it would have had in the source, or a higher one: some are never
  /// given again.
  func copyNumbers(of tables: [CatalogTable], to target: Connection) throws(CatalogError) {
    try target.transaction { () throws(CatalogError) in
      for table in tables {
        guard let column = try target.numberedColumn(of: table.name) else { continue }
        let highest = try target.first("SELECT max(\(column)) FROM \(table.name) WHERE TRUE") {
          $0.int64(0)
        }
        let given = try source.connection.lastNumber(of: table.name, column)
        let number = max(highest ?? 0, given ?? 0)
        if number > 0 { try target.setLastNumber(number, of: table.name, column) }
      }
    }
  }
}

extension Connection {
  /// The column that gets numbers that are never given again, or in PostgreSQL any from a sequence; `nil` if there is none.
  fileprivate func numberedColumn(of table: String) throws(CatalogError) -> String? {
    try first(
      text(
        sqlite: """
          SELECT name FROM pragma_table_info(?1) WHERE pk = 1 AND EXISTS (SELECT 1
            FROM sqlite_schema AS made WHERE made.name = ?1 AND made.sql LIKE '%AUTOINCREMENT%')
          """,
        postgreSQL: """
          SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?1) AND attidentity <> ''
          """), table
    ) { $0.text(0) }
  }

  /// The last number that a table has given; `nil` if it does not record that.
  fileprivate func lastNumber(of table: String, _ column: String) throws(CatalogError) -> Int64? {
    switch dialect {
    case .sqlite:
      return try first("SELECT seq FROM sqlite_sequence WHERE name = ?", table) { $0.int64(0) }
    case .postgreSQL:
      return try first(
        "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence(?, ?) AS regclass))", table,
        column
      ) { $0.optional(0, $0.int64) } ?? nil
    }
  }

  fileprivate func setLastNumber(
    _ number: Int64, of table: String, _ column: String
  ) throws(CatalogError) {
    switch dialect {
    case .sqlite:
      try execute("DELETE FROM sqlite_sequence WHERE name = ?", table)
      try execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, number)
    case .postgreSQL:
      _ = try first(
        "SELECT setval(CAST(pg_get_serial_sequence(?, ?) AS regclass), ?)", table, column, number
      ) { $0.int64(0) }
    }
  }
}
