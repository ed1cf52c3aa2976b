package import PipelineModel
package import Records

/// Queries for comparing the catalog with manifest and disk in parts.
extension CatalogReader {
  /// Calls a body for each digest of an original that begins with a byte.
  ///
  /// - Throws: errors of the body, or a `CatalogError`.
  package func originals(beginningWith byte: UInt8, _ body: (Digest) throws -> Void) throws {
    // Longer than any digest, so greater than all that begin with the greatest byte.
    let end = byte < .max ? [byte + 1] : [UInt8](repeating: .max, count: 33)
    try stream { connection in
      try connection.forEachRow(
        "SELECT digest FROM original WHERE digest >= ? AND digest < ?", SQLValue.blob([byte]),
        SQLValue.blob(end)
      ) { row in try body(try row.digest(0)) }
    }
  }

  /// Calls a body with the key and digest of each asset, unordered, in one snapshot.
  ///
  /// - Returns: the manifest position of that snapshot.
  /// - Throws: errors of the body, or a `CatalogError`.
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

  /// Calls a body with the path below the library of each recorded file in a folder: renditions,
  /// and discarded files that the next completed batch of jobs removes.
  ///
  /// - Parameter folder: its path below the library.
  /// - Throws: errors of the body, or a `CatalogError`.
  package func renditionFiles(below folder: String, _ body: (String) throws -> Void) throws {
    // “0” is the character after the slash.
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

  /// Returns whether `renditionFiles` includes a path.
  package func namesRenditionFile(_ path: String) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM rendition WHERE path = ?1
        UNION ALL SELECT 1 FROM discarded_file WHERE path = ?1 LIMIT 1
        """, path
      )
    }
  }

  /// Returns whether a job that makes renditions of an owner is running or due.
  ///
  /// - Parameters:
  ///   - owner: the bytes of a digest or of an asset's key, as in `RenditionLayout`.
  ///   - fingerprint: the first bytes of the stage's fingerprint.
  package func isRenditionDue(owner: [UInt8], fingerprint: [UInt8]) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      let column = owner.count == 16 ? "asset" : "digest"
      return try connection.hasRow(
        """
        SELECT 1 FROM ledger JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        WHERE ledger.\(column) = ? AND ledger.state IN ('waiting', 'ready', 'running')
          AND substr(fingerprint.value, 1, ?) = ? LIMIT 1
        """, SQLValue.blob(owner), fingerprint.count, SQLValue.blob(fingerprint)
      )
    }
  }

  /// Runs a body within one snapshot.
  ///
  /// The body must not wait: the write-ahead log can't be emptied while a snapshot is held.
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
  /// Calls a body that may throw any error for each row.
  fileprivate func forEachRow(
    _ sql: String, _ values: any SQLBindable..., body: (Statement) throws -> Void
  ) throws {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try body(statement) }
  }
}
