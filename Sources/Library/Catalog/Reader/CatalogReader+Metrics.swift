/// Counts for metrics, besides those for `status`.
package struct MetricCounts: Hashable, Sendable {
  /// The number of assets outside the trash with a job that is due or failed, by state; all others are done.
  package var unfinished: [AssetRecord.State: Int]
  /// The number of assets in the trash.
  package var trashed: Int
  /// The number of failed jobs of assets outside the trash, by stage name and class.
  package var failures: [String: [String: Int]]
  /// The number of attempts at jobs that ever began; 0 again in a catalog made anew.
  package var attemptsBegun: Int
  /// The number of renditions ever recorded; 0 again in a catalog made anew.
  package var renditionsMade: Int
}

extension CatalogReader {
  /// Counts what metrics say besides `status()`; for both in one snapshot, call them in `snapshot`.
  ///
  /// Takes time for each job that is not done and each asset in the trash.
  package func metricCounts() throws(CatalogError) -> MetricCounts {
    try read { (connection) throws(CatalogError) in
      MetricCounts(
        unfinished: try connection.unfinishedAssets(), trashed: try connection.trashedAssets(),
        failures: try connection.failureClasses(),
        attemptsBegun: try connection.rowsEver("attempt"),
        renditionsMade: try connection.rowsEver("rendition"))
    }
  }
}

extension Connection {
  /// Counts the assets with a job that is due or failed, by the state that the view `asset_state` gives them.
  fileprivate func unfinishedAssets() throws(CatalogError) -> [AssetRecord.State: Int] {
    let rows = try all(
      """
      SELECT rank, count(*) FROM (
        SELECT max(CASE ledger.state WHEN 'failed' THEN 3 WHEN 'running' THEN 2 ELSE 1 END) AS rank
        FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
            ON ledger.fingerprint = stage.fingerprint
              AND ledger.state IN ('waiting', 'ready', 'running', 'failed')
          CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
          CROSS JOIN asset ON asset.id = job.asset
        WHERE stage.active = 1 AND asset.trashed_at IS NULL GROUP BY job.asset
      ) GROUP BY rank
      """
    ) { ($0.int(0), $0.int(1)) }
    let states: [Int: AssetRecord.State] = [1: .ready, 2: .processing, 3: .failed]
    return rows.reduce(into: [:]) { counts, row in
      if let state = states[row.0] { counts[state] = row.1 }
    }
  }

  /// Counts the jobs that `CatalogReader.failures()` lists, by stage and class.
  fileprivate func failureClasses() throws(CatalogError) -> [String: [String: Int]] {
    let rows = try all(
      """
      SELECT stage.name, \(StageHold.failureClass) AS kind, count(*)
      \(CatalogReader.failedJobs) GROUP BY stage.id, kind
      """
    ) { ($0.text(0), $0.text(1), $0.int(2)) }
    return rows.reduce(into: [:]) { $0[$1.0, default: [:]][$1.1, default: 0] += $1.2 }
  }

  /// How many rows a table with growing keys has ever had. Source: sqlite.org/autoinc.html.
  fileprivate func rowsEver(_ table: String) throws(CatalogError) -> Int {
    try first("SELECT seq FROM sqlite_sequence WHERE name = ?", table) { $0.int(0) } ?? 0
  }
}
