import Records

/// Bytes of renditions in the catalog itself, in the table `rendition_bytes`.
///
/// PostgreSQL has all of them there, those of a row in the transaction that makes it, and removes them with it.
/// SQLite has what an older version left, until `Catalog.moveFormerBytes` has moved it.
extension Connection {
  /// Whether the catalog has the table.
  func hasBytesTable() throws(CatalogError) -> Bool {
    if dialect == .postgreSQL { return true }
    if isKnownWithoutBytes { return false }
    let isThere = try hasRow("SELECT 1 FROM sqlite_schema WHERE name = 'rendition_bytes'")
    if !isThere { isKnownWithoutBytes = true }
    return isThere
  }

  /// Returns the bytes of a rendition in the table, or `nil`.
  ///
  /// - Throws: `.unreadableBytes` if a page that PostgreSQL has them on is damaged; a transaction has failed then.
  func bytes(of rendition: Int64) throws(CatalogError) -> [UInt8]? {
    guard try hasBytesTable() else { return nil }
    do throws(CatalogError) {
      return try first("SELECT content FROM rendition_bytes WHERE rendition = ?", rendition) {
        $0.blob(0)
      }
    } catch  where dialect == .postgreSQL && error.code == .corrupt {
      throw .unreadableBytes(path, error)
    }
  }

  /// Returns how many bytes of a rendition the table has, or `nil`.
  func size(of rendition: Int64) throws(CatalogError) -> Int? {
    guard try hasBytesTable() else { return nil }
    return try first("SELECT length(content) FROM rendition_bytes WHERE rendition = ?", rendition) {
      $0.int(0)
    }
  }

  func removeBytes(of rendition: Int64) throws(CatalogError) {
    guard try hasBytesTable() else { return }
    try execute("DELETE FROM rendition_bytes WHERE rendition = ?", rendition)
  }
}
