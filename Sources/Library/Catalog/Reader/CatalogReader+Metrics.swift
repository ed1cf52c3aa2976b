package import Records

extension CatalogReader {
  /// A number that is another one as soon as some other connection has committed a change.
  ///
  /// Says something only beside numbers of the same reader. Source: sqlite.org/pragma.html#pragma_data_version.
  package var dataVersion: Int64 {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        switch connection.dialect {
        case .sqlite: try connection.first("PRAGMA data_version") { $0.int64(0) } ?? 0
        case .postgreSQL: try connection.lastCommitNumber()
        }
      }
    }
  }

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
  /// A number of the last commit that this transaction sees; other programs' in the cluster don't count.
  fileprivate func lastCommitNumber() throws(CatalogError) -> Int64 {
    try first("SELECT hashtextextended(mark, 0) FROM last_commit") { $0.int64(0) } ?? 0
  }

  /// Counts the assets with a job that is due or failed, by the state that the view `asset_state` gives them.
  fileprivate func unfinishedAssets() throws(CatalogError) -> [AssetRecord.State: Int] {
    let due = try assets(withJobsIn: "'waiting', 'ready', 'running', 'failed'")
    let begun = try assets(withJobsIn: "'running', 'failed'")
    let failed = try assets(withJobsIn: "'failed'")
    let counts: [AssetRecord.State: Int] = [
      .ready: due - begun, .processing: begun - failed, .failed: failed,
    ]
    return counts.filter { $0.value > 0 }
  }

  /// Counts the assets outside the trash with a job in one of some states.
  ///
  /// Those in the trash are subtracted: to look at the asset of each job would take twice as long.
  ///
  /// - Parameter states: as SQL.
  private func assets(withJobsIn states: String) throws(CatalogError) -> Int {
    let all = try first(
      """
      SELECT count(DISTINCT job.asset) FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
          ON ledger.fingerprint = stage.fingerprint AND ledger.state IN (\(states))
        CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
      WHERE stage.active = 1
      """
    ) { $0.int(0) }
    let trashed = try first(
      """
      SELECT count(DISTINCT asset.id) FROM asset INDEXED BY asset_trashed
        CROSS JOIN job ON job.asset = asset.id
        CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
        CROSS JOIN ledger ON ledger.id = job.ledger
          AND ledger.fingerprint = stage.fingerprint AND ledger.state IN (\(states))
      WHERE asset.trashed_at IS NOT NULL
      """
    ) { $0.int(0) }
    return (all ?? 0) - (trashed ?? 0)
  }

  /// Counts the jobs that `CatalogReader.failures()` lists, by stage and class.
  ///
  /// A row that waits for another attempt has the time of that, so other ready rows are read only if their
  /// stage is held.
  fileprivate func failureClasses() throws(CatalogError) -> [String: [String: Int]] {
    func failures(_ condition: String) throws(CatalogError) -> [(String, String, Int)] {
      try all(
        """
        SELECT stage.name, \(StageHold.failureClass) AS kind, count(*)
        FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
            ON ledger.fingerprint = stage.fingerprint AND \(condition) AND \(StageHold.isFailure)
          CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
          CROSS JOIN asset ON asset.id = job.asset
        WHERE stage.active = 1 AND asset.trashed_at IS NULL GROUP BY stage.id, kind
        """
      ) { ($0.text(0), $0.text(1), $0.int(2)) }
    }
    let rows =
      try failures("ledger.state = 'failed'")
      + failures("ledger.state = 'ready' AND ledger.not_before > iif(stage.held IS NULL, 0, -1)")
    return rows.reduce(into: [:]) { $0[$1.0, default: [:]][$1.1, default: 0] += $1.2 }
  }

  /// How many rows a table with growing keys has ever had. Source: sqlite.org/autoinc.html.
  fileprivate func rowsEver(_ table: String) throws(CatalogError) -> Int {
    // In PostgreSQL those of transactions that were undone count, too.
    try first(
      text(
        sqlite: "SELECT seq FROM sqlite_sequence WHERE name = '\(table)'",
        postgreSQL: "SELECT iif(is_called, last_value, 0) FROM \(table)_id_seq")
    ) { $0.int(0) } ?? 0
  }
}
