import PipelineModel
import Records

/// A table of a catalog as its database describes it, so that no other description has to follow the schema.
struct CatalogTable {
  struct Column: Hashable {
    let name: String
    let type: SQLType
  }

  let name: String
  let columns: [Column]
  /// The columns that sort the rows, in the same order in both databases.
  let key: [String]

  /// The tables that only PostgreSQL has: what belongs to the database, and the bytes of renditions.
  static let onlyOnServer: Set<String> = [
    "schema_version", "last_commit", "participant", "rendition_bytes", "request",
    "held_source", "manifest_tail",
  ]

  /// The columns that only PostgreSQL has: those of processes that are no more.
  static let columnsOnlyOnServer = ["attempt": ["participant"]]

  /// The tables that both have, each after those that it refers to.
  static let names = PostgreSQLSchema.tables.filter { !onlyOnServer.contains($0) }

  /// The tables that a catalog is moved by.
  static func all(in connection: Connection) throws(CatalogError) -> [CatalogTable] {
    var tables: [CatalogTable] = []
    for name in names { tables.append(try CatalogTable(name, in: connection)) }
    return tables
  }

  private init(_ name: String, in connection: Connection) throws(CatalogError) {
    let found = try connection.all(
      connection.text(
        sqlite: "SELECT name, type, nullif(pk, 0) FROM pragma_table_info(?) ORDER BY cid",
        postgreSQL: """
          SELECT attname, typname, (SELECT place FROM pg_index, unnest(indkey)
            WITH ORDINALITY AS part (number, place)
            WHERE indrelid = attrelid AND indisprimary AND number = attnum)
          FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
          WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
          """), name
    ) { row in (name: row.text(0), type: Self.types[row.text(1)], place: row.optional(2, row.int)) }
    let own = Self.columnsOnlyOnServer[name] ?? []
    self.name = name
    var columns: [Column] = []
    for column in found where !own.contains(column.name) {
      guard let type = column.type else { throw Self.unexpected(name, in: connection) }
      columns.append(Column(name: column.name, type: type))
    }
    guard !columns.isEmpty else { throw Self.unexpected(name, in: connection) }
    self.columns = columns
    // Without a primary key, all columns together are one.
    let keyed = found.filter { $0.place != nil }.sorted { $0.place ?? 0 < $1.place ?? 0 }
    key = keyed.isEmpty ? columns.map(\.name) : keyed.map(\.name)
  }

  /// The types as each database names them.
  private static let types: [String: SQLType] = [
    "INTEGER": .integer, "REAL": .real, "TEXT": .text, "BLOB": .blob,
    "int8": .integer, "bool": .boolean, "float8": .real, "text": .text, "bytea": .blob,
  ]

  private static func unexpected(_ table: String, in connection: Connection) -> CatalogError {
    CatalogError(
      .corrupt,
      "The table “\(table)” of the catalog “\(connection.path)” is not as this program makes it. "
        + CatalogError.advice, path: connection.path)
  }

  /// The same table with its columns in the order of another one.
  ///
  /// - Throws: `.corrupt` if the other has other columns.
  func ordered(as other: CatalogTable, in connection: Connection) throws(CatalogError)
    -> CatalogTable
  {
    let ordered = other.columns.compactMap { wanted in columns.first { $0.name == wanted.name } }
    guard ordered.count == columns.count, ordered.count == other.columns.count else {
      throw Self.unexpected(name, in: connection)
    }
    return CatalogTable(name: name, columns: ordered, key: key)
  }

  private init(name: String, columns: [Column], key: [String]) {
    self.name = name
    self.columns = columns
    self.key = key
  }

  private var list: String { columns.map(\.name).joined(separator: ", ") }

  /// SQL that reads all rows, sorted.
  var selection: String {
    "SELECT \(list) FROM \(name) ORDER BY \(key.joined(separator: ", "))"
  }

  /// SQL that inserts some rows.
  func insertion(of rows: Int) -> String {
    let row = "(\(columns.map { _ in "?" }.joined(separator: ", ")))"
    let all = repeatElement(row, count: rows).joined(separator: ", ")
    return "INSERT INTO \(name) (\(list)) VALUES \(all)"
  }
}
