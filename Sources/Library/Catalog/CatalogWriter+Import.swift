import PipelineModel
import Records

/// Inserting the rows that each import inserts.
///
/// They are counted and given revisions here rather than by triggers: see `CounterChanges`. So no other
/// statement may insert into `original`, `asset` or `sighting`.
extension CatalogWriter {
  /// Inserts an original, unless it is there; returns whether it was inserted.
  func insertOriginal(_ digest: Digest, size: Int) throws(CatalogError) -> Bool {
    let isNew =
      try connection.changes(
        "INSERT INTO original (digest, size) VALUES (?, ?) ON CONFLICT DO NOTHING", digest, size)
      > 0
    if isNew { counterChanges.count(.original, rows: 1, amount: Int64(size)) }
    return isNew
  }

  /// Inserts an asset, unless it is there; returns whether it was inserted.
  func insert(_ asset: NewAsset, source: Int64) throws(CatalogError) -> Bool {
    let isNew =
      try connection.changes(
        """
        INSERT INTO asset (id, digest, name, source, path, modified, permissions, imported_at, run,
          supersedes)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT id FROM run WHERE id = ?9),
          (SELECT id FROM asset WHERE id = ?10))
        ON CONFLICT DO NOTHING
        """, asset.id, asset.digest, asset.name, source, asset.path, asset.modified,
        asset.permissions, asset.importedAt, asset.run, asset.supersedes) > 0
    guard isNew, !isDraft else { return isNew }
    try revise(asset.id)
    counterChanges.count(.asset, rows: 1)
    if try connection.hasRow(CounterChanges.onlyOrigin, asset.id) {
      counterChanges.count(.impliedPath, rows: 1)
    }
    return true
  }

  /// Inserts or replaces the row of a path.
  func write(_ sighting: Sighting, source: Int64) throws(CatalogError) {
    let identity = sighting.identity
    let values: [any SQLBindable] = [
      source, sighting.path, sighting.state.rawValue, identity.map { Int64(bitPattern: $0.inode) },
      identity?.size, identity?.modified, identity?.changed, sighting.asset, sighting.reason,
      sighting.seenAt, sighting.awaitsRemoval, sighting.run,
    ]
    let isNew =
      try connection.changes(
        """
        INSERT INTO sighting (source, path, state, inode, size, modified, changed, asset, reason,
          seen_at, awaits_removal, run)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT id FROM asset WHERE id = ?8), ?9, ?10, ?11, ?12)
        ON CONFLICT DO NOTHING
        """, values: values) > 0
    if isNew {
      try count(sighting, source: source)
    } else {
      try connection.execute(
        """
        UPDATE sighting SET state = ?3, inode = ?4, size = ?5, modified = ?6, changed = ?7,
          asset = (SELECT id FROM asset WHERE id = ?8), reason = ?9, seen_at = ?10,
          awaits_removal = ?11, run = ?12
        WHERE source = ?1 AND path = ?2
        """, values: values)
    }
  }

  /// Inserts the implied row for the path of an asset that is about to be deleted.
  func keepImplied(by asset: AssetID) throws(CatalogError) {
    let sources = try connection.all(
      """
      INSERT INTO sighting (source, path, state, asset, seen_at, run)
      SELECT source, path, 'imported', id, imported_at, run FROM asset
      WHERE id = ? AND \(ImpliedSighting.condition)
      RETURNING source
      """, asset
    ) { $0.int64(0) }
    for source in sources {
      counterChanges.count(
        .path, owner: source, state: Sighting.State.imported.rawValue, rows: 1)
      counterChanges.count(.impliedPath, rows: -1)
    }
  }

  /// Counts a new row of `sighting`, whose path no asset implies any more.
  private func count(_ sighting: Sighting, source: Int64) throws(CatalogError) {
    guard counterChanges.areCounted else { return }
    counterChanges.count(
      .path, owner: source, state: sighting.state.rawValue, rows: 1,
      amount: sighting.isExpected ? 1 : 0)
    if try connection.hasRow(CounterChanges.origin, source, sighting.path) {
      counterChanges.count(.impliedPath, rows: -1)
    }
  }
}
