import PipelineModel
package import Records

extension Catalog {
  package func misplacedRenditions(
    stage name: String, threshold: Int, place: String, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try access.sync { (writer) throws(CatalogError) in
      guard let stage = writer.stages.first(where: { $0.name == name }) else { return [] }
      let columns = """
        SELECT rendition.id, rendition.name, rendition.media_type, rendition.digest,
          rendition.path, rendition.bytes, \(RenditionKey.columns)
        FROM rendition
          JOIN ledger ON ledger.id = rendition.ledger AND ledger.fingerprint = ?1
          JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        """
      // “0” is the character after the slash.
      return try writer.connection.all(
        """
        SELECT * FROM (\(columns) WHERE rendition.path IS NOT NULL AND rendition.bytes <= ?2
          LIMIT ?3)
        UNION ALL
        SELECT * FROM (\(columns) WHERE rendition.path IS NULL AND rendition.bytes > ?2 LIMIT ?3)
        UNION ALL
        SELECT * FROM (\(columns) WHERE rendition.path < ?4 AND rendition.bytes > ?2 LIMIT ?3)
        UNION ALL
        SELECT * FROM (\(columns) WHERE rendition.path >= ?5 AND rendition.bytes > ?2 LIMIT ?3)
        LIMIT ?3
        """, stage.fingerprint, threshold, limit, "\(place)/", "\(place)0"
      ) { (row) throws(CatalogError) in
        let key = try row.renditionKey(6)
        return MisplacedRendition(
          id: row.int64(0), name: row.text(1), mediaType: row.text(2), bytes: Int(row.int64(5)),
          digest: try row.digest(3),
          owner: Hexadecimal.encode(key.owner), fingerprint: key.fingerprint,
          path: row.optional(4, row.text))
      }
    }
  }

  package func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      if case .database(let bytes) = content { try writer.keepBytes(bytes, of: rendition) }
      try writer.transaction { () throws(CatalogError) in
        var path: String?
        if case .file(let name) = content { path = name }
        // Before the row names a file.
        if path != nil { try writer.discardBytes(where: "rendition.id = ?", rendition) }
        try writer.connection.removeBytes(of: rendition)
        let found = try writer.connection.changes(
          "UPDATE rendition SET path = ? WHERE id = ?", path, rendition)
        guard found > 0 else {
          throw CatalogError(
            .staleToken, "The rendition \(rendition) was replaced before its bytes were moved.",
            path: writer.connection.path)
        }
        if case .database(let bytes) = content { try writer.addBytes(bytes, of: rendition) }
      }
    }
  }

  package func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    try access.sync { (writer) throws(CatalogError) in
      guard let key = try writer.connection.renditionKey(of: id) else { return nil }
      return try writer.bytes(of: id, key)
    }
  }

  package func size(ofRendition id: Int64) throws(CatalogError) -> Int? {
    try access.sync { (writer) throws(CatalogError) in
      guard let key = try writer.connection.renditionKey(of: id) else { return nil }
      if let size = try writer.connection.size(of: id) { return size }
      return try writer.renditions?.read { (database) throws(CatalogError) in
        try database.keptRenditionSize(key)
      }
    }
  }

  package func invalidate(rendition: Int64) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in try writer.invalidate(rendition: rendition) }
  }
}

extension CatalogWriter {
  /// Deletes the row of a rendition whose bytes are missing or damaged, and makes its job due again.
  func invalidate(rendition: Int64) throws(CatalogError) {
    let row = try connection.first(
      """
      SELECT ledger.id, ledger.fingerprint, ledger.digest
      FROM rendition JOIN ledger ON ledger.id = rendition.ledger WHERE rendition.id = ?
      """, rendition
    ) { (row) throws(CatalogError) in
      RunningRow(id: row.int64(0), fingerprint: row.int64(1), digest: try row.digest(2))
    }
    guard let row else { return }
    try discardBytes(where: "rendition.id = ?", rendition)
    try connection.execute("DELETE FROM rendition WHERE id = ?", rendition)
    // A stale row will be replaced anyway.
    try connection.execute(
      "UPDATE job SET previous_ledger = NULL WHERE previous_ledger = ?", row.id)
    try connection.execute(
      """
      UPDATE ledger SET state = 'waiting', facts = NULL, not_before = 0, attempts = 0,
        interruptions = 0, finished_at = NULL
      WHERE id = ? AND state = 'done'
      """, row.id)
    try touch(row.digest)
    let own = stages.filter { $0.fingerprint == row.fingerprint }.map(\.id)
    let dependents = stages.dependents(ofFingerprints: [row.fingerprint]).map(\.id)
    try updateTouchedRows(
      stages.filter { own.contains($0.id) || dependents.contains($0.id) })
    try connection.execute("INSERT INTO temp.doomed (ledger) VALUES (?)", row.id)
    try discardDoomed()
  }
}
