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
      let page = try writer.connection.all(
        "SELECT id FROM rendition WHERE id > ? ORDER BY id LIMIT ?", Int64(text) ?? 0, Self.lostPage
      ) { $0.int64(0) }
      var lost: [Int64] = []
      for rendition in page where try writer.isLost(rendition) { lost.append(rendition) }
      try writer.transaction { () throws(CatalogError) in
        for rendition in lost { try writer.invalidate(rendition: rendition) }
        if let last = page.last {
          try writer.connection.execute(Setting.write, Setting.lostRenditions, String(last))
        } else {
          try writer.connection.execute(
            "DELETE FROM setting WHERE key = ?", Setting.lostRenditions)
        }
      }
      return (lost.count, !page.isEmpty)
    }
  }
}

extension CatalogWriter {
  /// Whether a rendition that is not a file has no bytes.
  fileprivate func isLost(_ rendition: Int64) throws(CatalogError) -> Bool {
    guard let key = try connection.renditionKey(of: rendition) else { return false }
    if try connection.hasBytes(of: rendition) { return false }
    let size = try renditions?.read { (database) throws(CatalogError) in
      try database.keptRenditionSize(key)
    }
    return size == nil
  }
}
