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

  /// Returns the run that imported an asset, or `nil` if it is not known or there is no such asset.
  package func run(ofAsset id: AssetID) throws(CatalogError) -> AssetID? {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT run FROM asset WHERE id = ?", id) {
        (row) throws(CatalogError) in try row.optionalAssetID(0)
      } ?? nil
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

  /// Returns what matters for returning assets of a run besides their own places.
  ///
  /// - Parameters:
  ///   - oldest: the first of them.
  ///   - newest: the last of them.
  package func relations(
    ofOrigins run: AssetID, from oldest: AssetID, through newest: AssetID
  ) throws(CatalogError) -> OriginRelations {
    try read { (connection) throws(CatalogError) in
      var relations = OriginRelations()
      let letGo = try connection.all(
        """
        SELECT asset.id, source.path, seen.path
        FROM asset JOIN sighting AS seen ON seen.asset = asset.id
          JOIN source ON source.id = seen.source
        WHERE asset.run = ? AND asset.id BETWEEN ? AND ? AND \(Connection.isLetGo)
        ORDER BY asset.id, source.path DESC, seen.path DESC
        """, run, oldest, newest
      ) { (row) throws(CatalogError) in
        (id: try row.assetID(0), path: row.path(1).appending(row.path(2)))
      }
      for (id, path) in letGo { relations.letGo[id] = path }
      let others = try connection.all(
        """
        SELECT asset.id, seen.path FROM asset JOIN sighting AS seen ON seen.asset = asset.id
        WHERE asset.run = ? AND asset.id BETWEEN ? AND ? AND seen.source = asset.source
          AND seen.state = 'imported' AND seen.inode IS NOT NULL AND seen.path <> asset.path
        """, run, oldest, newest
      ) { (row) throws(CatalogError) in (id: try row.assetID(0), path: row.path(1)) }
      for (id, path) in others { relations.otherPaths[id, default: []].append(path) }
      relations.followed = Set(
        try connection.all(
          """
          SELECT asset.id FROM asset WHERE asset.run = ? AND asset.id BETWEEN ? AND ?
            AND EXISTS (SELECT 1 FROM asset AS newer
              WHERE newer.source = asset.source AND newer.path = asset.path
                AND newer.run = asset.run AND newer.id > asset.id AND newer.digest <> asset.digest)
          """, run, oldest, newest
        ) { (row) throws(CatalogError) in try row.assetID(0) })
      return relations
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
