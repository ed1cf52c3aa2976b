import PipelineModel
package import Records

/// The bytes of renditions that an older version kept in SQLite's catalog itself, in the table `rendition_bytes`.
///
/// Moved to the database of renditions in many short transactions: first copied and flushed, then
/// deleted here. Readers look in both places. The table is gone once it is empty.
extension Catalog {
  /// The most bytes moved in one transaction, unless one rendition alone has more.
  private static let mostBytes = 4 << 20
  /// The most renditions moved in one transaction.
  private static let mostRows = 512

  /// The most bytes that moving what an older version left may still need on the disk; 0 if nothing is left.
  package func roomForFormerBytes() throws(CatalogError) -> Int {
    try access.sync { (writer) throws(CatalogError) in
      guard writer.renditions != nil, try writer.connection.hasBytesTable() else { return 0 }
      func number(_ pragma: String) throws(CatalogError) -> Int {
        try writer.connection.first("PRAGMA \(pragma)") { $0.int(0) } ?? 0
      }
      return try (number("page_count") - number("freelist_count")) * number("page_size")
    }
  }

  /// Moves some of the bytes that an older version left in the catalog.
  ///
  /// - Returns: whether there are more.
  package func moveFormerBytes() throws(CatalogError) -> Bool {
    try access.sync { (writer) throws(CatalogError) in
      guard let renditions = writer.renditions, try writer.connection.hasBytesTable() else {
        return false
      }
      let page = try writer.formerPage(most: Self.mostBytes, rows: Self.mostRows)
      if !page.isEmpty {
        try renditions.write { (database) throws(CatalogError) in
          for (rendition, key) in page {
            guard let bytes = try writer.connection.bytes(of: rendition) else { continue }
            try database.keepRendition(bytes, as: key)
          }
        }
      }
      return try writer.transaction { () throws(CatalogError) in
        for (rendition, _) in page { try writer.connection.removeBytes(of: rendition) }
        return try !writer.connection.dropFormerBytes() && !page.isEmpty
      }
    }
  }
}

extension CatalogWriter {
  /// The first rows, as many as have so many bytes together, but at least one.
  fileprivate func formerPage(
    most: Int, rows: Int
  ) throws(CatalogError) -> [(rendition: Int64, key: RenditionKey)] {
    var sum = 0
    let all = try connection.all(
      """
      SELECT rendition_bytes.rendition, length(rendition_bytes.content), \(RenditionKey.columns)
      FROM rendition_bytes CROSS JOIN rendition ON rendition.id = rendition_bytes.rendition
        CROSS JOIN ledger ON ledger.id = rendition.ledger
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      ORDER BY rendition_bytes.rendition LIMIT ?
      """, rows
    ) { (row) throws(CatalogError) in (row.int64(0), row.int(1), try row.renditionKey(2)) }
    return all.prefix { _, size, _ in
      defer { sum += size }
      return sum == 0 || sum + size <= most
    }.map { ($0.0, $0.2) }
  }
}

extension Connection {
  /// Drops the table if it is empty; returns whether it is gone.
  @discardableResult
  func dropFormerBytes() throws(CatalogError) -> Bool {
    guard try hasBytesTable() else { return true }
    guard try !hasRow("SELECT 1 FROM rendition_bytes LIMIT 1") else { return false }
    try executeScript("DROP TABLE rendition_bytes")
    return true
  }
}
