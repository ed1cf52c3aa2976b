import PipelineModel

extension CatalogReader {
  /// Counts everything at one moment.
  package func status() throws(CatalogError) -> StatusCounts {
    try read { (connection) throws(CatalogError) in
      let originals = try connection.pair("SELECT count(*), coalesce(sum(size), 0) FROM original")
      let renditions = try connection.pair(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM rendition")
      let sightings = try connection.all("SELECT state, count(*) FROM sighting GROUP BY state") {
        (row) throws(CatalogError) in (try row.value(0, as: Sighting.State.self), row.int(1))
      }
      return StatusCounts(
        assets: try connection.first("SELECT count(*) FROM asset WHERE trashed_at IS NULL") {
          $0.int(0)
        } ?? 0,
        originals: originals.0, originalBytes: originals.1, renditions: renditions.0,
        renditionBytes: renditions.1,
        sightings: Dictionary(sightings, uniquingKeysWith: +), jobs: try connection.backlog(),
        lastRun: try connection.lastRun())
    }
  }
}

extension Connection {
  /// Counts the rows of each configured stage by state.
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

  fileprivate func pair(_ sql: String) throws(CatalogError) -> (Int, Int) {
    try first(sql) { ($0.int(0), $0.int(1)) } ?? (0, 0)
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
  /// The run of a row of `runColumns`.
  func run() throws(CatalogError) -> RunRecord {
    RunRecord(
      id: try assetID(0), verb: text(1), startedAt: timestamp(2),
      endedAt: optional(3, timestamp),
      counters: (try json(4).object ?? [:]).compactMapValues(\.integer))
  }
}
