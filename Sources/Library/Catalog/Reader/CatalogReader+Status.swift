import PipelineModel
package import Records

extension CatalogReader {
  /// The names of the configured stages, in their order.
  package func stageNames() throws(CatalogError) -> [String] {
    try read { (connection) throws(CatalogError) in
      try connection.all("SELECT name FROM stage WHERE active = 1 ORDER BY position") { $0.text(0) }
    }
  }

  /// Returns the last runs, the newest first, with those that have not ended.
  package func lastRuns(_ count: Int) throws(CatalogError) -> [RunRecord] {
    try read { (connection) throws(CatalogError) in
      // Keys sort by time.
      try connection.all(
        "SELECT \(Connection.runColumns) FROM run ORDER BY id DESC LIMIT ?", count
      ) { (row) throws(CatalogError) in try row.run() }
    }
  }

  /// Counts everything in one snapshot.
  ///
  /// Takes time for each job that is not done and each asset in the trash; the rest is counted already,
  /// unless the catalog was just updated from an older version.
  package func status() throws(CatalogError) -> StatusCounts {
    try read { (connection) throws(CatalogError) in
      let counters = try connection.counters()
      let trashed = try connection.trashedAssets()
      let original = counters.total(.original)
      let rendition = counters.total(.rendition)
      var sightings: [Sighting.State: Int] = [:]
      var pathsOnDisk: [BytePath: [Sighting.State: Int]] = [:]
      let sources = Dictionary(
        try connection.all("SELECT id, path FROM source") { ($0.int64(0), $0.path(1)) },
        uniquingKeysWith: { $1 })
      for counter in counters where counter.kind == .path && counter.rows > 0 {
        guard let state = Sighting.State(rawValue: counter.state),
          let source = sources[counter.owner]
        else { continue }
        sightings[state, default: 0] += counter.rows
        pathsOnDisk[source, default: [:]][state] = counter.amount > 0 ? counter.amount : nil
      }
      let implied = counters.total(.impliedPath).rows
      if implied > 0 { sightings[.imported, default: 0] += implied }
      return StatusCounts(
        assets: counters.total(.asset).rows - trashed,
        originals: original.rows, originalBytes: original.amount,
        renditions: rendition.rows, renditionBytes: rendition.amount,
        sightings: sightings, pathsOnDisk: pathsOnDisk,
        jobs: try connection.jobCounts(counters),
        orphans: try connection.first(
          "SELECT count(*) FROM member INDEXED BY member_orphan WHERE role = 'orphan'"
        ) { $0.int(0) } ?? 0,
        withoutThumbnail: try connection.thumbnailGaps(),
        lastRun: try connection.lastRun())
    }
  }
}

extension Connection {
  /// The counters of the table; while it lacks rows, everything is counted.
  fileprivate func counters() throws(CatalogError) -> [Counter] {
    let stored = "SELECT kind, owner, state, rows, amount FROM counter"
    let rows = try all(Counters.areComplete(self) ? stored : Counters.selection) { row in
      Counters.Kind(rawValue: row.text(0)).map {
        Counter(
          kind: $0, owner: row.int64(1), state: row.text(2), rows: row.int(3), amount: row.int(4))
      }
    }
    return rows.compactMap(\.self)
  }

  /// The number of assets in the trash.
  func trashedAssets() throws(CatalogError) -> Int {
    try first("SELECT count(*) FROM asset INDEXED BY asset_trashed WHERE trashed_at IS NOT NULL") {
      $0.int(0)
    } ?? 0
  }

  /// Counts the jobs of assets outside the trash by configured stage and state.
  ///
  /// Assets with the same bytes share rows, so there may be fewer rows than jobs.
  fileprivate func jobCounts(
    _ counters: [Counter]
  ) throws(CatalogError) -> [String: [LedgerState: Int]] {
    let stages = try all(
      "SELECT id, name FROM stage WHERE active = 1"
    ) { ($0.int64(0), $0.text(1)) }
    let trashed = try trashedJobs()
    var counts: [String: [LedgerState: Int]] = [:]
    for (stage, name) in stages {
      // The states are listed, because no index serves “other than done”.
      let unfinished = try self.all(
        """
        SELECT ledger.state, count(*)
        FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
            ON ledger.fingerprint = stage.fingerprint
              AND ledger.state IN ('waiting', 'ready', 'running', 'skipped', 'failed')
          CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
        WHERE stage.id = ? GROUP BY ledger.state
        """, stage
      ) { (row) throws(CatalogError) in
        (try row.value(0, as: LedgerState.self), row.int(1))
      }
      // All others are done; they are too many to count individually.
      let all = counters.first { $0.kind == .job && $0.owner == stage }?.rows ?? 0
      var states = Dictionary(unfinished, uniquingKeysWith: +)
      states[.done] = all - unfinished.reduce(0) { $0 + $1.1 }
      // Subtracted, because the trash is small: to look at the asset of each job would take twice as long.
      for (state, count) in trashed[stage] ?? [:] { states[state, default: 0] -= count }
      counts[name] = states.filter { $0.value > 0 }
    }
    return counts
  }

  /// Counts the jobs of assets in the trash, by stage and state.
  private func trashedJobs() throws(CatalogError) -> [Int64: [LedgerState: Int]] {
    let rows = try all(
      """
      SELECT job.stage, iif(ledger.fingerprint = stage.fingerprint, ledger.state, 'done') AS state,
        count(*)
      FROM asset INDEXED BY asset_trashed CROSS JOIN job ON job.asset = asset.id
        CROSS JOIN stage ON stage.id = job.stage CROSS JOIN ledger ON ledger.id = job.ledger
      WHERE asset.trashed_at IS NOT NULL AND stage.active = 1 GROUP BY 1, 2
      """
    ) { (row) throws(CatalogError) in
      (row.int64(0), try row.value(1, as: LedgerState.self), row.int(2))
    }
    return rows.reduce(into: [:]) { $0[$1.0, default: [:]][$1.1, default: 0] += $1.2 }
  }

  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] {
    let rows = try all(
      """
      SELECT stage.name, ledger.state, count(ledger.id)
      FROM stage LEFT JOIN ledger INDEXED BY ledger_claim
        ON ledger.fingerprint = stage.fingerprint
      WHERE stage.active = 1 GROUP BY stage.id, ledger.state
      """
    ) { (row) throws(CatalogError) in
      (row.text(0), row.isNull(1) ? nil : try row.value(1, as: LedgerState.self), row.int(2))
    }
    return rows.reduce(into: [:]) { counts, row in
      counts[row.0, default: [:]][row.1 ?? .ready, default: 0] += row.2
    }.mapValues { $0.filter { $0.value > 0 } }
  }

  fileprivate func lastRun() throws(CatalogError) -> RunRecord? {
    try first(
      """
      SELECT \(Self.runColumns) FROM run
      WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT 1
      """
    ) { (row) throws(CatalogError) in try row.run() }
  }

  /// The columns that `Statement.run()` reads.
  static let runColumns = "id, verb, started_at, ended_at, counters"
}

extension Statement {
  /// Reads a run from a row of `runColumns`.
  func run() throws(CatalogError) -> RunRecord {
    RunRecord(
      id: try assetID(0), verb: text(1), startedAt: timestamp(2),
      endedAt: optional(3, timestamp),
      counters: (try json(4).object ?? [:]).compactMapValues(\.integer))
  }
}

/// A row of `counter`.
private struct Counter {
  var kind: Counters.Kind
  var owner: Int64
  var state: String
  var rows: Int
  var amount: Int
}

extension [Counter] {
  /// The counter of a kind that has no owner and no state.
  fileprivate func total(_ kind: Counters.Kind) -> (rows: Int, amount: Int) {
    first { $0.kind == kind }.map { ($0.rows, $0.amount) } ?? (0, 0)
  }
}
