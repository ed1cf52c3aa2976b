package import PipelineModel

/// What a comparison of the catalog with manifest and disk asks for, part by part.
extension CatalogReader {
  /// Gives the digests of the originals that begin with a byte.
  ///
  /// - Throws: what the body throws, or a `CatalogError`.
  package func originals(
    beginningWith byte: UInt8, _ body: (Digest) throws -> Void
  ) throws {
    // Longer than any digest, so greater than all that begin with the greatest byte.
    let end = byte < .max ? [byte + 1] : [UInt8](repeating: .max, count: 33)
    try stream { connection in
      try connection.forEachRow(
        "SELECT digest FROM original WHERE digest >= ? AND digest < ?", SQLValue.blob([byte]),
        SQLValue.blob(end)
      ) { row in try body(try row.digest(0)) }
    }
  }

  /// Gives the keys and digests of all assets, in no order, in one snapshot.
  ///
  /// - Returns: how far the manifest is contained in that snapshot.
  /// - Throws: what the body throws, or a `CatalogError`.
  package func assetDigests(_ body: (AssetID, Digest) throws -> Void) throws -> Int64 {
    var position: Int64 = 0
    try stream { connection in
      position = try connection.manifestPosition()
      try connection.forEachRow("SELECT id, digest FROM asset") { row in
        try body(try row.assetID(0), try row.digest(1))
      }
    }
    return position
  }

  /// Gives the paths below the library of files that some record names in a folder: those of
  /// renditions, and those that are to be removed when the next batch of jobs is complete.
  ///
  /// - Parameter folder: its path below the library.
  /// - Throws: what the body throws, or a `CatalogError`.
  package func renditionFiles(below folder: String, _ body: (String) throws -> Void) throws {
    // The sign behind the slash.
    let (first, end) = ("\(folder)/", "\(folder)0")
    try stream { connection in
      try connection.forEachRow(
        """
        SELECT path FROM rendition WHERE path >= ?1 AND path < ?2
        UNION ALL SELECT path FROM discarded_file WHERE path >= ?1 AND path < ?2
        """, first, end
      ) { row in try body(row.text(0)) }
    }
  }

  /// Returns whether some record names a file, as `renditionFiles` does.
  package func namesRenditionFile(_ path: String) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.first(
        """
        SELECT 1 FROM rendition WHERE path = ?1
        UNION ALL SELECT 1 FROM discarded_file WHERE path = ?1 LIMIT 1
        """, path
      ) { _ in true } ?? false
    }
  }

  /// Returns whether a job makes a rendition of an owner, or is about to.
  ///
  /// - Parameters:
  ///   - owner: the bytes of a digest or of an asset's key, as `RenditionLayout` has them.
  ///   - fingerprint: the first bytes of the stage's.
  package func isRenditionDue(
    owner: [UInt8], fingerprint: [UInt8]
  ) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      let column = owner.count == 16 ? "asset" : "digest"
      return try connection.first(
        """
        SELECT 1 FROM ledger JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        WHERE ledger.\(column) = ? AND ledger.state IN ('waiting', 'ready', 'running')
          AND substr(fingerprint.value, 1, ?) = ? LIMIT 1
        """, SQLValue.blob(owner), fingerprint.count, SQLValue.blob(fingerprint)
      ) { _ in true } ?? false
    }
  }
}

extension CatalogReader {
  /// Runs a body that may throw anything within one snapshot.
  ///
  /// While a snapshot is held the write-ahead log can't be emptied, so the body waits for nobody.
  private func stream(_ body: (Connection) throws -> Void) throws {
    var failure: (any Error)?
    try read { (connection) throws(CatalogError) in
      do {
        try body(connection)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }
}

extension Connection {
  /// Gives rows one by one to a body that may throw anything.
  fileprivate func forEachRow(
    _ sql: String, _ values: any SQLBindable..., body: (Statement) throws -> Void
  ) throws {
    let statement = try take(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try body(statement) }
  }
}
