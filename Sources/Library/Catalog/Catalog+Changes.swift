package import PipelineModel
package import Records

extension CatalogChange {
  fileprivate var retriedAsset: AssetID? {
    if case .retried(let asset) = self { asset } else { nil }
  }
}

extension Catalog {
  /// The key of the setting that names the last applied fact of the manifest.
  package static let manifestMark = "manifest.fact"

  /// Applies changes in one transaction and records the manifest position.
  ///
  /// Runs are applied first, then assets, then the rest in order, and at last jobs are made ready again. Applying changes
  /// twice is harmless, so a replay may start too early. References to missing
  /// assets or runs become `NULL`.
  ///
  /// - Parameter manifestPosition: the position after the last change; ignored if
  ///   below the recorded position.
  /// - Parameter mark: a text to store under `manifestMark`; `nil` keeps the old one.
  /// - Returns: the number of jobs that were made ready again.
  @discardableResult
  package func apply(
    _ changes: [CatalogChange], manifestPosition: Int64, mark: String? = nil
  ) throws(CatalogError) -> Int {
    try access.sync { (writer) throws(CatalogError) in
      let (withdrawn, retried, tail) = try writer.transaction { () throws(CatalogError) in
        let withdrawn = try writer.make(changes)
        let retried = try writer.retry(changes.compactMap { $0.retriedAsset })
        try writer.updateTouchedRows(writer.stages)
        if try writer.connection.manifestPosition() < manifestPosition {
          try writer.connection.execute(
            Setting.write, Setting.manifestPosition, String(manifestPosition))
        }
        if let mark {
          try writer.connection.execute(Setting.write, "user." + Self.manifestMark, mark)
        }
        return (withdrawn, retried, try writer.keepNewLines())
      }
      // Only after the commit, which may fail.
      if let tail { writer.manifestTail?.last = tail }
      writer.withdrawn.merge(withdrawn) { $1 }
      return retried
    }
  }

  /// Returns the assets with these bytes in key order, those in the trash last.
  package func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    try read { (connection) throws(CatalogError) in try connection.assets(with: digest) }
  }

  /// Returns the assets with these bytes in key order, and whether they are in the trash.
  package func assetsWithTrash(
    with digest: Digest
  ) throws(CatalogError) -> [(id: AssetID, isTrashed: Bool)] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        "SELECT id, trashed_at IS NOT NULL FROM asset WHERE digest = ? ORDER BY id", digest
      ) { (row) throws(CatalogError) in (try row.assetID(0), row.bool(1)) }
    }
  }

  /// Returns the newest asset that came from a path, if it has these bytes; otherwise `nil`.
  package func newestAsset(
    source: BytePath, path: BytePath, ifItHas digest: Digest
  ) throws(CatalogError) -> AssetID? {
    try read { (connection) throws(CatalogError) in
      let newest = try connection.first(
        """
        SELECT id, digest FROM asset INDEXED BY asset_origin
        WHERE source = (SELECT id FROM source WHERE path = ?) AND path = ? ORDER BY id DESC LIMIT 1
        """, source, path
      ) { (row) throws(CatalogError) in (try row.assetID(0), try row.digest(1)) }
      return newest.flatMap { $0.1 == digest ? $0.0 : nil }
    }
  }

  package func sighting(source: BytePath, path: BytePath) throws(CatalogError) -> Sighting? {
    try read { (connection) throws(CatalogError) in
      try connection.sighting(source: source, path: path)
    }
  }

  package func hasOriginal(_ digest: Digest) throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow("SELECT 1 FROM original WHERE digest = ?", digest)
    }
  }

  /// Returns a cursor over the current sighting rows of a source, in the byte order of their paths.
  package func sightings(of source: BytePath) throws(CatalogError) -> SightingCursor {
    try SightingCursor(catalog: place, source: source)
  }
}

extension CatalogWriter {
  /// Applies changes in the caller's transaction.
  ///
  /// - Returns: attempts whose rows were deleted with their asset.
  fileprivate func make(
    _ changes: [CatalogChange]
  ) throws(CatalogError) -> [AttemptToken: WithdrawnRow] {
    var withdrawn: [AttemptToken: WithdrawnRow] = [:]
    for case .run(let run) in changes { try add(run) }
    for case .asset(let asset) in changes { try add(asset) }
    for change in changes {
      switch change {
      case .run, .asset, .retried: continue
      case .sighting(let sighting): try record(sighting)
      case .sourceRemoved(let source, let path):
        try connection.execute(
          """
          UPDATE sighting
          SET awaits_removal = 0, inode = NULL, size = NULL, modified = NULL, changed = NULL
          WHERE source = (SELECT id FROM source WHERE path = ?) AND path = ?
          """, source, path)
        try removeImplied(source: source, path: path)
      case .trashed(let asset, let time):
        try connection.execute(
          "UPDATE asset SET trashed_at = ? WHERE id = ? AND trashed_at IS NULL", time, asset)
      case .restored(let asset):
        try connection.execute("UPDATE asset SET trashed_at = NULL WHERE id = ?", asset)
      case .annotated(let asset, let annotation): try record(annotation, of: asset)
      case .purged(let asset, let sequence):
        try keepImplied(by: asset)
        try explainPaths(ofPurged: asset)
        withdrawn.merge(try forget(asset, sequence: sequence)) { $1 }
      case .returned(let asset, let sighting, let sequence):
        try keepImplied(by: asset)
        try releaseDuplicates(of: asset)
        withdrawn.merge(try forget(asset, sequence: sequence)) { $1 }
        try record(sighting)
      case .relied(let digest):
        try keep(digest)
      }
    }
    return withdrawn
  }

  /// Records a run known only from the manifest; updates the counters if it is recorded as such.
  private func add(_ run: RunRecord) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO run (id, verb, started_at, ended_at, counters) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET counters = excluded.counters
        WHERE run.verb = excluded.verb AND excluded.counters = '{}'
      """, run.id, run.verb, run.startedAt, run.endedAt, try Catalog.json(run.counters))
  }

  /// Records a new asset with its jobs, unless it exists.
  fileprivate func add(_ asset: NewAsset) throws(CatalogError) {
    let isNewOriginal = try insertOriginal(asset.digest, size: asset.size)
    try keep(asset.digest)
    let isNew = try insert(asset, source: try sourceID(asset.source))
    guard isNew else { return }
    try addPicture(of: asset)
    guard !stages.isEmpty else { return }
    try connection.execute(
      """
      INSERT INTO ledger (fingerprint, digest, asset, state)
      SELECT fingerprint, ?1, iif(asset_scoped, ?2, NULL),
        iif(EXISTS (SELECT 1 FROM stage_need WHERE stage = stage.id), 'waiting', 'ready')
      FROM stage WHERE active = 1 ORDER BY position
      ON CONFLICT DO NOTHING
      """, asset.digest, asset.id)
    try connection.execute(
      """
      INSERT INTO job (asset, stage, ledger)
      SELECT ?2, stage.id, ledger.id
      FROM stage CROSS JOIN ledger INDEXED BY ledger_key
        ON ledger.digest = ?1 AND ledger.fingerprint = stage.fingerprint
          AND ifnull(ledger.asset, x'') = iif(stage.asset_scoped, ?2, x'')
      WHERE stage.active = 1
      ON CONFLICT DO NOTHING
      """, asset.digest, asset.id)
    // Only known bytes have finished rows that the new rows need not wait for, and facts.
    if !isNewOriginal {
      try touch(asset.digest)
      try outdatePicture(of: asset.id)
      try regroup(asset.id)
    }
    // A former version is in no group any more.
    if let former = asset.supersedes { try regroup(former) }
  }

  fileprivate func record(_ sighting: Sighting) throws(CatalogError) {
    let source = try sourceID(sighting.source)
    if try isImplied(sighting, source: source) {
      try connection.execute(
        "DELETE FROM sighting WHERE source = ? AND path = ?", source, sighting.path)
      return
    }
    try write(sighting, source: source)
  }

  /// The row of a source, inserted on first use.
  private func sourceID(_ path: BytePath) throws(CatalogError) -> Int64 {
    if let lastSource, lastSource.path == path { return lastSource.id }
    let id: Int64
    if let known = try connection.sourceID(path) {
      id = known
    } else {
      id = try connection.insert("INSERT INTO source (path) VALUES (?)", values: [path])
    }
    lastSource = (path, id)
    return id
  }
}
