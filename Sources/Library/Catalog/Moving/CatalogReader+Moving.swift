package import PipelineModel
package import Records

/// What is asked before a catalog is moved.
extension CatalogReader {
  /// What a move would copy.
  package func movableContent() throws(CatalogError) -> CatalogCopy.Result {
    try read { (connection) throws(CatalogError) in
      let counts = try connection.movableRows()
      var content = CatalogCopy.Result()
      content.rows = counts.reduce(0) { $0 + $1.rows }
      content.assets = counts.first { $0.table == "asset" }?.rows ?? 0
      content.renditions = try connection.keptRenditionCount()
      content.renditionBytes =
        try connection.first("SELECT coalesce(sum(bytes), 0) FROM rendition WHERE path IS NULL") {
          $0.int(0)
        } ?? 0
      return content
    }
  }

  /// How many bytes the catalog takes on its server, with indexes and bytes of renditions; `nil` for a file.
  package func bytesOnServer() throws(CatalogError) -> Int? {
    try read { (connection) throws(CatalogError) in try connection.bytesOnServer() }
  }

  /// The first path, or source, that has more bytes than a database can record, and how many there are; `nil` if none has.
  package func overlongPaths(
    path: Int, source: Int
  ) throws(CatalogError) -> (first: BytePath, count: Int)? {
    try read { (connection) throws(CatalogError) in
      try connection.overlongPaths(path: path, source: source)
    }
  }
}

extension CatalogSource {
  /// The same of a catalog that is held.
  package func bytesOnServer() throws(CatalogError) -> Int? { try connection.bytesOnServer() }

  /// The same of a catalog that is held.
  package func overlongPaths(
    path: Int, source: Int
  ) throws(CatalogError) -> (first: BytePath, count: Int)? {
    try connection.overlongPaths(path: path, source: source)
  }

  /// The tables that another catalog has with other rows.
  package func differences(from other: CatalogSource) throws(CatalogError) -> [String] {
    let tables = try CatalogTable.all(in: connection)
    let others = try zip(tables, CatalogTable.all(in: other.connection)).map {
      (pair) throws(CatalogError) in try pair.1.ordered(as: pair.0, in: other.connection)
    }
    let own = try contents(of: tables)
    let found = try other.contents(of: others)
    return tables.map(\.name).filter { own[$0] != found[$0] }
  }

  private func contents(of tables: [CatalogTable]) throws(CatalogError) -> [String: TableContent] {
    try connection.transaction(.reading) { () throws(CatalogError) in
      try TableContent.all(in: connection, as: tables, isPlain: true) { _ in }
    }
  }
}

extension Connection {
  /// Source: PostgreSQL's documentation, 9.27.7 “Database Object Management Functions”.
  fileprivate func bytesOnServer() throws(CatalogError) -> Int? {
    guard dialect == .postgreSQL else { return nil }
    return try first(
      """
      SELECT CAST(coalesce(sum(pg_total_relation_size(pg_class.oid)), 0) AS bigint)
      FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = '\(PostgreSQLSchema.name)' AND relkind = 'r'
      """
    ) { $0.int(0) }
  }

  fileprivate func overlongPaths(
    path: Int, source: Int
  ) throws(CatalogError) -> (first: BytePath, count: Int)? {
    let found = try first(
      """
      SELECT count(*), min(path) FROM (
        SELECT path FROM source WHERE length(path) > ?2
        UNION SELECT path FROM asset WHERE length(path) > ?1
        UNION SELECT path FROM sighting WHERE length(path) > ?1)
      """, path, source
    ) { (first: $0.path(1), count: $0.int(0)) }
    return found.flatMap { $0.count > 0 ? $0 : nil }
  }
}
