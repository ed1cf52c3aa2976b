package import PipelineModel
package import Records

/// The list of originals that were deleted for good and are still to be removed.
///
/// The transactions that apply the manifest's facts maintain it: deleting the last asset with some
/// bytes adds them; a new asset, or a duplicate discarded because of them, removes them.
extension Catalog {
  /// Takes originals off the list, because they are removed or must stay.
  package func forgetDeletions(of digests: [Digest]) throws(CatalogError) {
    guard !digests.isEmpty else { return }
    try write { (writer) throws(CatalogError) in
      for digest in digests { try writer.keep(digest) }
    }
  }

  /// Whether the list is complete; false in a catalog from an older version.
  package var knowsDeletions: Bool {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        try connection.hasRow(Setting.read, Setting.deletions)
      }
    }
  }

  /// Updates the list for facts of the manifest, in order, that an older version applied.
  ///
  /// - Parameter isLast: whether these facts complete the list.
  package func addDeletions(_ facts: [DeletionFact], isLast: Bool) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      for fact in facts {
        switch fact {
        case .deleted(let original):
          if try writer.connection.assets(with: original.digest).isEmpty {
            try writer.note(original)
          }
        case .relied(let digest): try writer.keep(digest)
        }
      }
      if isLast { try writer.connection.execute(Setting.write, Setting.deletions, "1") }
    }
  }
}

extension CatalogReader {
  /// Returns whether an original was deleted for good and waits for `gc`.
  package func isDeleted(_ digest: Digest) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow("SELECT 1 FROM deletion WHERE digest = ?", digest)
    }
  }

  /// Returns deleted originals, in the order of their facts.
  package func deletions(
    after sequence: Int64, limit: Int
  ) throws(CatalogError) -> [DeletedOriginal] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT digest, asset, sequence FROM deletion WHERE sequence > ?
        ORDER BY sequence LIMIT ?
        """, sequence, limit
      ) { (row) throws(CatalogError) in
        DeletedOriginal(
          digest: try row.digest(0), asset: try row.assetID(1), sequence: row.int64(2))
      }
    }
  }
}

extension CatalogWriter {
  func note(_ original: DeletedOriginal) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO deletion (digest, asset, sequence) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET asset = excluded.asset, sequence = excluded.sequence
      """, original.digest, original.asset, original.sequence)
  }

  func keep(_ digest: Digest) throws(CatalogError) {
    try connection.execute("DELETE FROM deletion WHERE digest = ?", digest)
  }
}

/// The subject of an attempt whose row was deleted.
struct WithdrawnRow {
  /// The ID of the fingerprint's row.
  var fingerprint: Int64
  var digest: Digest
  var asset: AssetID?
}

/// Deleting assets and everything that belongs to them alone.
extension CatalogWriter {
  /// Deletes an asset, and all records of its bytes if no other asset has them.
  ///
  /// Adds rendition files to the list of files to remove. Deletes running attempts
  /// with their rows; their results will be ignored.
  ///
  /// - Parameter sequence: the manifest sequence number of the fact that deletes the asset.
  /// - Returns: those attempts.
  func forget(
    _ id: AssetID, sequence: Int64?
  ) throws(CatalogError) -> [AttemptToken: WithdrawnRow] {
    let digest = try connection.first("SELECT digest FROM asset WHERE id = ?", id) {
      (row) throws(CatalogError) in try row.digest(0)
    }
    guard let digest else { return [:] }
    try regroupCompanions(of: id)
    let isLast = try connection.assets(with: digest) == [id]
    try connection.execute(
      """
      INSERT INTO temp.doomed (ledger)
      SELECT ledger FROM job WHERE asset = ?1
      UNION SELECT previous_ledger FROM job WHERE asset = ?1 AND previous_ledger IS NOT NULL
      UNION SELECT id FROM ledger WHERE asset = ?1
      UNION SELECT id FROM ledger WHERE ?3 AND digest = ?2
      """, id, digest, isLast)
    try connection.execute("DELETE FROM job WHERE asset = ?", id)
    let withdrawn = try withdrawDoomed()
    try discardDoomed(withRunning: true)
    try connection.execute("DELETE FROM asset WHERE id = ?", id)
    if isLast {
      try connection.execute("DELETE FROM original WHERE digest = ?", digest)
      if let sequence {
        try note(DeletedOriginal(digest: digest, asset: id, sequence: sequence))
      }
    }
    return withdrawn
  }

  /// The running attempts at doomed rows that no job refers to.
  private func withdrawDoomed() throws(CatalogError) -> [AttemptToken: WithdrawnRow] {
    let rows = try connection.all(
      """
      SELECT attempt.id, ledger.fingerprint, ledger.digest, ledger.asset
      FROM temp.doomed CROSS JOIN ledger ON ledger.id = doomed.ledger
        CROSS JOIN attempt ON attempt.ledger = ledger.id AND attempt.ended_at IS NULL
      WHERE NOT EXISTS (SELECT 1 FROM job WHERE job.ledger = ledger.id)
        AND NOT EXISTS (SELECT 1 FROM job WHERE job.previous_ledger = ledger.id)
      """
    ) { (row) throws(CatalogError) in
      (
        AttemptToken(rawValue: row.int64(0)),
        WithdrawnRow(
          fingerprint: row.int64(1), digest: try row.digest(2), asset: try row.optionalAssetID(3))
      )
    }
    return Dictionary(rows, uniquingKeysWith: { $1 })
  }

  /// Ignores the result of an attempt whose row was deleted, and lists its files for removal.
  ///
  /// - Returns: whether it is such an attempt.
  func passOver(
    _ token: AttemptToken, _ outcome: Completion.Outcome? = nil
  ) throws(CatalogError) -> Bool {
    guard let row = withdrawn[token] else { return false }
    guard case .done(_, let renditions) = outcome else { return true }
    for rendition in renditions {
      guard case .file(let path) = rendition.content else { continue }
      try connection.execute(
        """
        INSERT INTO discarded_file (path, fingerprint, digest, asset) VALUES (?, ?, ?, ?)
        ON CONFLICT DO NOTHING
        """, path, row.fingerprint, row.digest, row.asset)
    }
    return true
  }

  /// Records on an asset's paths that it was deleted.
  ///
  /// If a path awaits removal, the next scan checks whether the file exists: without an asset, it
  /// is neither imported again nor removed.
  func explainPaths(ofPurged asset: AssetID) throws(CatalogError) {
    try connection.execute(
      """
      UPDATE sighting SET reason = 'Its asset was deleted for good.' WHERE asset = ?
      """, asset)
  }

  /// Updates the paths of files that stay in place as duplicates of a returned asset.
  ///
  /// Duplicates from the same run are returned with it. The next run checks those
  /// from other runs again: these runs were not undone, and the bytes leave the library.
  func releaseDuplicates(of asset: AssetID) throws(CatalogError) {
    try connection.execute(
      """
      UPDATE sighting SET awaits_removal = 0,
        state = iif(known.is_other, 'settling', 'returned'),
        reason = iif(known.is_other,
          'The original of this duplicate was returned; the next run checks this file again.',
          'The run that saw it was undone.')
      FROM (
        SELECT seen.source AS source, seen.path AS path, \(Connection.isOfAnotherRun) AS is_other
        FROM sighting AS seen JOIN asset ON asset.id = seen.asset
        WHERE seen.asset = ?1 AND seen.state = 'duplicate' AND seen.inode IS NOT NULL
      ) AS known
      WHERE sighting.source = known.source AND sighting.path = known.path
      """, asset)
  }
}
