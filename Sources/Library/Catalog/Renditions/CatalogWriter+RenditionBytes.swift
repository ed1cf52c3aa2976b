import PipelineModel
import Records

/// Bytes of renditions, kept in step with the rows that name them.
///
/// In the database of renditions they are stored before the transaction that names them, and removed after the
/// one that no longer does. A kill in between leaves bytes without a row, which the job overwrites or `gc` removes.
/// In a catalog that has them itself they come in the same transaction, and go with their row.
extension CatalogWriter {
  /// Stores the bytes of results that are about to be recorded, in one transaction of their own.
  ///
  /// - Throws: `.staleToken` if an attempt has ended; nothing was stored then.
  func keepBytes(of completions: [Completion]) throws(CatalogError) {
    guard let renditions else { return }
    var kept: [(key: RenditionKey, bytes: [UInt8])] = []
    for completion in completions where withdrawn[completion.token] == nil {
      guard case .done(_, let made) = completion.outcome else { continue }
      var row: (owner: [UInt8], fingerprint: Fingerprint)?
      for rendition in made {
        guard case .database(let bytes) = rendition.content else { continue }
        let names = if let row { row } else { try namingRow(of: completion.token) }
        row = names
        let key = RenditionKey(
          owner: names.owner, fingerprint: names.fingerprint, name: rendition.name)
        kept.append((key, bytes))
      }
    }
    guard !kept.isEmpty else { return }
    try renditions.write { (database) throws(CatalogError) in
      for (key, bytes) in kept { try database.keepRendition(bytes, as: key) }
    }
  }

  /// Stores the bytes of a rendition whose row is about to name no file any more.
  func keepBytes(_ bytes: [UInt8], of rendition: Int64) throws(CatalogError) {
    guard let renditions else { return }
    let key = try connection.first(
      """
      SELECT \(RenditionKey.columns)
      FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE rendition.id = ?
      """, rendition
    ) { (row) throws(CatalogError) in try row.renditionKey(0) }
    guard let key else { return }
    try renditions.write { (database) throws(CatalogError) in
      try database.keepRendition(bytes, as: key)
    }
  }

  /// Adds the bytes of a row that has none, if they belong in the catalog; in the row's transaction.
  func addBytes(_ bytes: [UInt8], of rendition: Int64) throws(CatalogError) {
    guard renditions == nil else { return }
    try connection.execute(
      "INSERT INTO rendition_bytes (rendition, content) VALUES (?, ?)", rendition,
      SQLValue.blob(bytes))
  }

  /// What names the renditions of an attempt's row.
  private func namingRow(
    of token: AttemptToken
  ) throws(CatalogError) -> (owner: [UInt8], fingerprint: Fingerprint) {
    guard let row = try openRows(of: [token])[token] else { throw stale(token) }
    let names = try connection.first(
      """
      SELECT coalesce(ledger.asset, ledger.digest), fingerprint.value
      FROM ledger CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint WHERE ledger.id = ?
      """, row.id
    ) { (row) throws(CatalogError) in (row.blob(0), Fingerprint(try row.digest(1))) }
    return names ?? (row.digest.bytes, Fingerprint(row.digest))
  }

  /// Returns the bytes of a rendition that is not a file, or `nil` if they are missing or damaged; not within a
  /// transaction.
  func bytes(of rendition: Int64, _ key: RenditionKey) throws(CatalogError) -> [UInt8]? {
    do throws(CatalogError) {
      if let bytes = try connection.bytes(of: rendition) { return bytes }
    } catch  where error.code == .unreadableBytes {
      return nil
    }
    return try renditions?.read { (database) throws(CatalogError) in
      try database.keptRendition(key)
    }
  }

  /// Lists the bytes of renditions whose rows are about to go, to be removed after the commit.
  ///
  /// - Parameter condition: SQL that chooses them by `rendition` and `ledger`.
  func discardBytes(
    where condition: String, _ values: any SQLBindable...
  ) throws(CatalogError) {
    guard renditions != nil else { return }
    let count = try connection.changes(
      """
      INSERT INTO temp.discarded_bytes (owner, fingerprint, name)
      SELECT \(RenditionKey.columns)
      FROM ledger JOIN rendition ON rendition.ledger = ledger.id
        JOIN fingerprint ON fingerprint.id = ledger.fingerprint
      WHERE rendition.path IS NULL AND \(condition)
      """, values: values)
    if count > 0 { hasDiscardedBytes = true }
  }

  /// Removes listed bytes that no row names, as one may again; `gc` finds what this can't remove.
  func removeDiscardedBytes() {
    do throws(CatalogError) {
      let keys = try connection.all("SELECT owner, fingerprint, name FROM temp.discarded_bytes") {
        (row) throws(CatalogError) in try row.renditionKey(0)
      }
      try connection.execute("DELETE FROM temp.discarded_bytes")
      try renditions?.remove(unnamed(among: keys))
    } catch {
      // The transaction is committed, so nobody must take it for failed.
      return
    }
  }

  func unnamed(among keys: [RenditionKey]) throws(CatalogError) -> [RenditionKey] {
    var unnamed: [RenditionKey] = []
    for key in keys where try !connection.namesRendition(key) { unnamed.append(key) }
    return unnamed
  }
}
