import PipelineModel

extension Catalog {
  package func misplacedRenditions(
    stage name: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try access.sync { (writer) throws(CatalogError) in
      guard let stage = writer.stages.first(where: { $0.name == name }) else { return [] }
      let columns = """
        SELECT rendition.id, rendition.name, rendition.media_type, rendition.digest,
          coalesce(ledger.asset, ledger.digest), fingerprint.value, rendition.path,
          rendition_bytes.content
        FROM rendition
          JOIN ledger ON ledger.id = rendition.ledger AND ledger.fingerprint = ?1
          JOIN fingerprint ON fingerprint.id = ledger.fingerprint
          LEFT JOIN rendition_bytes ON rendition_bytes.rendition = rendition.id
        """
      return try writer.connection.all(
        """
        SELECT * FROM (\(columns) WHERE rendition.path IS NOT NULL AND rendition.bytes <= ?2
          LIMIT ?3)
        UNION ALL
        SELECT * FROM (\(columns) WHERE rendition.path IS NULL AND rendition.bytes > ?2 LIMIT ?3)
        LIMIT ?3
        """, stage.fingerprint, threshold, limit
      ) { (row) throws(CatalogError) in
        MisplacedRendition(
          id: row.int64(0), name: row.text(1), mediaType: row.text(2), digest: try row.digest(3),
          owner: Hexadecimal.encode(row.blob(4)), fingerprint: Fingerprint(try row.digest(5)),
          content: row.optional(6, row.text).map { .file(path: $0) } ?? .database(row.blob(7)))
      }
    }
  }

  package func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      var path: String?
      if case .file(let name) = content { path = name }
      let found = try writer.connection.execute(
        "UPDATE rendition SET path = ? WHERE id = ?", path, rendition)
      guard found > 0 else {
        throw CatalogError(
          .staleToken, "The rendition \(rendition) was replaced before its bytes were moved.",
          path: writer.connection.path)
      }
      try writer.connection.execute("DELETE FROM rendition_bytes WHERE rendition = ?", rendition)
      if case .database(let bytes) = content {
        try writer.connection.execute(
          "INSERT INTO rendition_bytes (rendition, content) VALUES (?, ?)", rendition,
          SQLValue.blob(bytes))
      }
    }
  }

  package func invalidate(rendition: Int64) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      let row = try writer.connection.first(
        """
        SELECT ledger.id, ledger.fingerprint, ledger.digest
        FROM rendition JOIN ledger ON ledger.id = rendition.ledger WHERE rendition.id = ?
        """, rendition
      ) { (row) throws(CatalogError) in
        RunningRow(id: row.int64(0), fingerprint: row.int64(1), digest: try row.digest(2))
      }
      guard let row else { return }
      try writer.connection.execute("DELETE FROM rendition WHERE id = ?", rendition)
      // A stale row will be replaced anyway.
      try writer.connection.execute(
        "UPDATE job SET previous_ledger = NULL WHERE previous_ledger = ?", row.id)
      try writer.connection.execute(
        """
        UPDATE ledger SET state = 'waiting', facts = NULL, not_before = 0, attempts = 0,
          interruptions = 0, finished_at = NULL
        WHERE id = ? AND state = 'done'
        """, row.id)
      try writer.touch(row.digest)
      let own = writer.stages.filter { $0.fingerprint == row.fingerprint }.map(\.id)
      let dependents = writer.stages.dependents(ofFingerprints: [row.fingerprint]).map(\.id)
      try writer.updateTouchedRows(
        writer.stages.filter { own.contains($0.id) || dependents.contains($0.id) })
      try writer.connection.execute("INSERT INTO temp.doomed (ledger) VALUES (?)", row.id)
      try writer.discardDoomed()
    }
  }
}
