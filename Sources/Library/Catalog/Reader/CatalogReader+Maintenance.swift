package import PipelineModel
package import Records

/// Queries for maintenance: runs to undo, the trash, and pages to verify.
extension CatalogReader {
  /// Returns a run, or `nil` if there is none with this key.
  package func run(_ id: AssetID) throws(CatalogError) -> RunRecord? {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT \(Connection.runColumns) FROM run WHERE id = ?", id) {
        (row) throws(CatalogError) in try row.run()
      }
    }
  }

  /// Returns the run keys with a prefix or suffix.
  ///
  /// - Parameter text: digits of a UUID in either case, with or without dashes;
  ///   anything else matches nothing.
  package func runIDs(matching text: String) throws(CatalogError) -> [AssetID] {
    let digits = String(text.filter { $0 != "-" }).lowercased()
    guard !digits.isEmpty else { return [] }
    let all = try read { (connection) throws(CatalogError) in
      try connection.all("SELECT id FROM run ORDER BY id") {
        (row) throws(CatalogError) in try row.assetID(0)
      }
    }
    return all.filter { id in
      let hex = Hexadecimal.encode(id.bytes)
      return hex.hasPrefix(digits) || hex.hasSuffix(digits)
    }
  }

  /// Returns the last run that imported something, even if its assets are deleted.
  package func lastImportingRun() throws(CatalogError) -> AssetID? {
    try read { (connection) throws(CatalogError) in
      try connection.first(
        """
        SELECT max(id) FROM (
          SELECT max(run) AS id FROM asset WHERE run IS NOT NULL
          UNION ALL SELECT max(id) FROM run
          WHERE ifnull(CAST(counters ->> 'imported' AS INTEGER), iif(verb = ?, 1, 0)) > 0)
        """, RunRecord.unknownVerb
      ) { (row) throws(CatalogError) in try row.optionalAssetID(0) } ?? nil
    }
  }

  /// Returns the last run before a given one that still has assets.
  package func runWithAssets(before run: AssetID) throws(CatalogError) -> AssetID? {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT max(run) FROM asset WHERE run < ?", run) {
        (row) throws(CatalogError) in try row.optionalAssetID(0)
      } ?? nil
    }
  }

  package func assetCount(of run: AssetID) throws(CatalogError) -> Int {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT count(*) FROM asset WHERE run = ?", run) { $0.int(0) } ?? 0
    }
  }

  /// Returns assets of a run, the newest first.
  ///
  /// - Parameter before: return only assets older than this one; `nil` for all.
  package func origins(
    of run: AssetID, before: AssetID?, limit: Int
  ) throws(CatalogError) -> [AssetOrigin] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT \(Connection.originColumns)
        WHERE asset.run = ? AND asset.id < ? ORDER BY asset.id DESC LIMIT ?
        """, run, SQLValue.blob(before?.bytes ?? Self.behindAllKeys), limit
      ) { (row) throws(CatalogError) in try row.origin() }
    }
  }

  /// Returns assets in the trash, the oldest asset first.
  ///
  /// - Parameter time: return only assets trashed before.
  package func trash(
    limit: Int, before time: Timestamp = Timestamp(microseconds: .max)
  ) throws(CatalogError) -> [AssetOrigin] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT \(Connection.originColumns)
        WHERE asset.trashed_at IS NOT NULL AND asset.trashed_at < ? ORDER BY asset.id LIMIT ?
        """, time, limit
      ) { (row) throws(CatalogError) in try row.origin() }
    }
  }

  /// Returns originals after a digest, in the order of digests.
  package func originals(
    after digest: Digest?, limit: Int
  ) throws(CatalogError) -> [(digest: Digest, size: Int)] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT digest, size FROM original WHERE digest > ? ORDER BY digest LIMIT ?
        """, SQLValue.blob(digest?.bytes ?? []), limit
      ) { (row) throws(CatalogError) in (try row.digest(0), row.int(1)) }
    }
  }

  package func hasOriginal(_ digest: Digest) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow("SELECT 1 FROM original WHERE digest = ?", digest)
    }
  }

  /// A blob that sorts after all keys, which have 16 bytes.
  private static let behindAllKeys = [UInt8](repeating: 0xFF, count: 17)

  /// Returns whether a job is running or due.
  package func hasDueJobs() throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM fingerprint CROSS JOIN ledger INDEXED BY ledger_claim
          ON ledger.fingerprint = fingerprint.id
            AND ledger.state IN ('waiting', 'ready', 'running')
        LIMIT 1
        """
      )
    }
  }

  /// Counts the renditions that belong only to stages no longer configured.
  package func formerRenditions() throws(CatalogError) -> (count: Int, bytes: Int) {
    try read { (connection) throws(CatalogError) in
      try FormerStages.renditions(connection)
    }
  }
}

extension Connection {
  /// The columns that `Statement.origin()` reads.
  fileprivate static let originColumns = """
    asset.id, asset.digest, original.size, source.path, asset.path, asset.modified,
      asset.permissions, asset.trashed_at IS NOT NULL
    FROM asset CROSS JOIN original ON original.digest = asset.digest
      CROSS JOIN source ON source.id = asset.source
    """
}

extension Statement {
  fileprivate func origin() throws(CatalogError) -> AssetOrigin {
    AssetOrigin(
      id: try assetID(0), digest: try digest(1), size: int(2), source: path(3), path: path(4),
      modified: int64(5), permissions: UInt32(truncatingIfNeeded: int64(6)), isTrashed: bool(7))
  }
}
