import PipelineModel
import Records

/// How far existing assets and rows have followed a change of stages.
///
/// The catalog keeps it until the work is done, so that it continues after a kill. Assets added in
/// the meantime get their jobs for the new stages at once.
struct ConfigurationProgress: Codable {
  /// Stages whose jobs are assigned to every asset, in key order.
  var assigned: [String] = []
  /// Stages whose plugin now accepts other types.
  var reconsidered: [String] = []
  /// The last asset with assigned jobs, in hexadecimal; empty before the first.
  var lastAsset = ""
  /// Whether stages came or went, which changes what readers see of each asset; `nil` is no.
  var isRevising: Bool?
  /// Whether all assets have their jobs; the rows follow, in the order of digests.
  var hasAssigned = false
  /// The last digest with updated rows; empty before the first.
  var lastDigest = ""

  static func read(_ connection: Connection) throws(CatalogError) -> ConfigurationProgress? {
    let text = try connection.first(Setting.read, Setting.progress) { $0.text(0) }
    guard let text else { return nil }
    // If unreadable, start over for all stages.
    if let progress = try? JSONText.decode(Self.self, from: text) { return progress }
    let all = try ConfiguredStage.all(connection).map(\.name)
    return ConfigurationProgress(assigned: all, reconsidered: all, isRevising: true)
  }

  func write(_ connection: Connection) throws(CatalogError) {
    try connection.execute(Setting.write, Setting.progress, try Catalog.json(self))
  }
}

/// Applying a change of stages to existing assets and rows, one page at a time.
extension CatalogWriter {
  /// The number of assets or originals per transaction: some 20 ms of work.
  static let configurationPage = 512

  /// Processes the next page in the caller's transaction.
  ///
  /// - Returns: whether more pages may follow.
  func runConfigurationStep() throws(CatalogError) -> Bool {
    guard var progress = try ConfigurationProgress.read(connection) else { return false }
    if !progress.hasAssigned {
      let stages = stages.filter { progress.assigned.contains($0.name) }
      let end = try stages.isEmpty ? nil : lastKey("asset", "id", after: progress.lastAsset)
      if let end {
        for stage in stages { try assignJobs(of: stage, after: progress.lastAsset, through: end) }
        progress.lastAsset = end
      } else {
        progress.hasAssigned = true
      }
    } else if let end = try lastKey("original", "digest", after: progress.lastDigest) {
      try renew(progress, through: end)
      progress.lastDigest = end
    } else {
      try connection.execute("DELETE FROM setting WHERE key = ?", Setting.progress)
      return false
    }
    try progress.write(connection)
    return true
  }

  /// The last key of the page after a key, in hexadecimal; `nil` after the last page.
  func lastKey(
    _ table: String, _ column: String, after key: String
  ) throws(CatalogError) -> String? {
    try connection.first(
      """
      SELECT max(key) FROM (SELECT \(column) AS key FROM \(table) WHERE \(column) > ?
        ORDER BY \(column) LIMIT \(Self.configurationPage))
      """, Self.blob(key)
    ) { row in row.optional(0) { Hexadecimal.encode(row.blob($0)) } } ?? nil
  }

  static func blob(_ hexadecimal: String) -> SQLValue {
    .blob(Hexadecimal.decode(Array(hexadecimal.utf8)) ?? [])
  }

  /// Points the jobs of a range of assets to the rows of the stage's fingerprint.
  ///
  /// Keeps a done row that this replaces as the stale one to serve.
  private func assignJobs(
    of stage: ConfiguredStage, after first: String, through last: String
  ) throws(CatalogError) {
    let (first, last) = (Self.blob(first), Self.blob(last))
    // In the order of assets, which is the order of the work.
    try connection.execute(
      """
      INSERT INTO ledger (fingerprint, digest, asset, state)
      SELECT ?1, digest, iif(?4, id, NULL), 'waiting' FROM asset
      WHERE id > ?2 AND id <= ?3 ORDER BY id
      ON CONFLICT DO NOTHING
      """, stage.fingerprint, first, last, stage.isAssetScoped)
    let fresh = """
      ledger AS fresh INDEXED BY ledger_key
        ON fresh.digest = asset.digest AND fresh.fingerprint = ?2
        AND ifnull(fresh.asset, x'') = iif(?3, asset.id, x'')
      """
    try connection.execute(
      """
      UPDATE job SET
        ledger = switch.fresh,
        previous_ledger = CASE WHEN switch.is_done THEN NULL
          WHEN switch.was_done THEN job.ledger
          ELSE nullif(job.previous_ledger, switch.fresh) END
      FROM (
        SELECT job.asset AS asset, fresh.id AS fresh, fresh.state = 'done' AS is_done,
          old.state = 'done' AS was_done
        FROM asset CROSS JOIN job ON job.asset = asset.id AND job.stage = ?1
          CROSS JOIN ledger AS old ON old.id = job.ledger CROSS JOIN \(fresh)
        WHERE asset.id > ?4 AND asset.id <= ?5 AND fresh.id <> old.id
      ) AS switch
      WHERE job.stage = ?1 AND job.asset = switch.asset
      """, stage.id, stage.fingerprint, stage.isAssetScoped, first, last)
    try reviseAssets(without: stage.id, after: first, through: last)
    try connection.execute(
      """
      INSERT INTO job (asset, stage, ledger)
      SELECT asset.id, ?1, fresh.id FROM asset CROSS JOIN \(fresh)
      WHERE asset.id > ?4 AND asset.id <= ?5
      ON CONFLICT DO NOTHING
      """, stage.id, stage.fingerprint, stage.isAssetScoped, first, last)
    if PictureRow.plugins.contains(stage.plugin) {
      try outdatePictures(after: first, through: last)
    }
  }

  /// Updates the rows of a range of originals to the current stages.
  private func renew(_ progress: ConfigurationProgress, through last: String) throws(CatalogError) {
    let (first, last) = (Self.blob(progress.lastDigest), Self.blob(last))
    for stage in stages {
      try connection.execute(
        """
        UPDATE ledger INDEXED BY ledger_key SET state = 'waiting', not_before = 0, attempts = 0,
          interruptions = 0, class = NULL, reason = NULL, finished_at = NULL
        WHERE digest > ?1 AND digest <= ?2 AND fingerprint = ?3
          AND state = 'failed' AND runtime IS NOT ?4
        """, first, last, stage.fingerprint, stage.runtime)
      guard progress.reconsidered.contains(stage.name) else { continue }
      // Only rows skipped without calling the plugin.
      try connection.execute(
        """
        UPDATE ledger INDEXED BY ledger_key SET state = 'waiting', not_before = 0, attempts = 0,
          interruptions = 0, class = NULL, reason = NULL, finished_at = NULL
        WHERE digest > ?1 AND digest <= ?2 AND fingerprint = ?3
          AND state = 'skipped' AND blocked = 0 AND seconds = 0
        """, first, last, stage.fingerprint)
    }
    if progress.isRevising == true {
      try reviseAssets(withDigestsAfter: first, through: last)
    }
    try connection.execute(
      """
      INSERT INTO temp.touched (digest)
      SELECT digest FROM original WHERE digest > ? AND digest <= ?
      """, first, last)
    try updateTouchedRows(stages)
    try connection.execute(
      """
      INSERT INTO temp.doomed (ledger)
      SELECT id FROM ledger INDEXED BY ledger_key WHERE digest > ? AND digest <= ?
        AND NOT EXISTS (SELECT 1 FROM job WHERE job.ledger = ledger.id)
        AND NOT EXISTS (SELECT 1 FROM job WHERE job.previous_ledger = ledger.id)
      """, first, last)
    try discardDoomed()
  }
}
