package import PipelineModel
package import Records

/// Renditions whose bytes went with their database: it was removed, left out of a restored library, or
/// damaged and moved aside. Or with their table in PostgreSQL, which a dump may leave out.
///
/// A new database is made only after the setting is on disk, so that a kill in between forgets nothing.
enum LostRenditions {
  /// Records that bytes are to be looked for, if rows name any.
  static func note(in connection: Connection) throws(CatalogError) {
    guard try isNeeded(by: connection) else { return }
    try connection.execute(Setting.write, Setting.lostRenditions, "0")
  }

  /// Whether rows name bytes that are not files.
  static func isNeeded(by connection: Connection) throws(CatalogError) -> Bool {
    try connection.hasRow("SELECT 1 FROM rendition WHERE path IS NULL LIMIT 1")
  }

  /// Does so if PostgreSQL's table has no bytes at all; before any are added.
  static func noteEmptyTable(in connection: Connection) throws(CatalogError) {
    if try connection.hasRow("SELECT 1 FROM rendition_bytes LIMIT 1") { return }
    try note(in: connection)
  }
}

extension Catalog {
  /// The number of renditions looked for in one transaction.
  private static let lostPage = 512

  /// Whether the database of renditions was made anew since `remakeLostRenditions` was last called.
  package func mayHaveLostRenditions() throws(CatalogError) -> Bool {
    try access.sync { (writer) throws(CatalogError) in
      writer.renditions?.isMadeAnew ?? false
    }
  }

  /// Where a damaged database of renditions was moved by this process; `nil` if none was.
  package func damagedRenditions() throws(CatalogError) -> BytePath? {
    try access.sync { (writer) throws(CatalogError) in writer.renditions?.damaged }
  }

  /// Makes renditions due again whose bytes were lost with their database, in one short transaction.
  ///
  /// Makes a missing or damaged database anew first, if rows name bytes in it. One that can't be used is
  /// an error here, before any job would fail because of it.
  ///
  /// - Returns: how many are made again, and whether there are more to look for.
  package func remakeLostRenditions() throws(CatalogError) -> (count: Int, hasMore: Bool) {
    try access.sync { (writer) throws(CatalogError) in
      if let renditions = writer.renditions {
        var isUsed = try LostRenditions.isNeeded(by: writer.connection)
        if !isUsed { isUsed = try renditions.isThere() }
        if isUsed { try renditions.write { _ in } }
        renditions.isMadeAnew = false
      }
      let text = try writer.connection.first(Setting.read, Setting.lostRenditions) { $0.text(0) }
      guard let text else { return (0, false) }
      let page = try writer.lostRenditions(after: Int64(text) ?? 0, among: Self.lostPage)
      try writer.transaction { () throws(CatalogError) in
        for rendition in page.lost { try writer.invalidate(rendition: rendition) }
        if let last = page.last {
          try writer.connection.execute(Setting.write, Setting.lostRenditions, String(last))
        } else {
          try writer.connection.execute(
            "DELETE FROM setting WHERE key = ?", Setting.lostRenditions)
        }
      }
      return (page.lost.count, page.last != nil)
    }
  }
}

extension CatalogWriter {
  /// Returns those of the next renditions after a key that are not files and have no bytes, and the last of all;
  /// `nil` if there are no more.
  fileprivate func lostRenditions(
    after id: Int64, among count: Int
  ) throws(CatalogError) -> (lost: [Int64], last: Int64?) {
    let hasNone =
      try connection.hasBytesTable()
      ? "AND NOT EXISTS (SELECT 1 FROM rendition_bytes WHERE rendition_bytes.rendition = rendition.id)"
      : ""
    let page = try connection.all(
      """
      SELECT rendition.id, rendition.path IS NULL \(hasNone), \(RenditionKey.columns)
      FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE rendition.id > ? ORDER BY rendition.id LIMIT ?
      """, id, count
    ) { (row) throws(CatalogError) in
      (id: row.int64(0), mayBeLost: row.bool(1), key: try row.renditionKey(2))
    }
    var lost: [Int64] = []
    for row in page where row.mayBeLost {
      let size = try renditions?.read { (database) throws(CatalogError) in
        try database.keptRenditionSize(row.key)
      }
      if size == nil { lost.append(row.id) }
    }
    return (lost, page.last?.id)
  }
}
