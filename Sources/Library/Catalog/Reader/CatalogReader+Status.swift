package import PipelineModel

/// Counts for `status`.
package struct StatusCounts: Hashable, Sendable {
  /// The number of assets outside the trash.
  package var assets: Int
  package var originals: Int
  package var originalBytes: Int
  package var renditions: Int
  package var renditionBytes: Int
  /// The number of paths by state.
  package var sightings: [Sighting.State: Int]
  /// The number of paths with an expected file, by source and state.
  package var pathsOnDisk: [BytePath: [Sighting.State: Int]]
  /// The number of jobs of configured stages, by stage name and state.
  package var jobs: [String: [LedgerState: Int]]
  /// The number of sidecars without a picture.
  package var orphans: Int
  package var lastRun: RunRecord?
}

/// One execution of `run`, `import` or a burst of `watch`.
package struct RunRecord: Hashable, Sendable {
  package var id: AssetID
  package var verb: String
  package var startedAt: Timestamp
  /// When it ended; `nil` while it is running.
  package var endedAt: Timestamp?
  package var counters: [String: Int]

  /// The verb of a run known only from the manifest.
  package static let unknownVerb = "unknown"

  package init(
    id: AssetID, verb: String, startedAt: Timestamp, endedAt: Timestamp? = nil,
    counters: [String: Int] = [:]
  ) {
    self.id = id
    self.verb = verb
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.counters = counters
  }
}

extension CatalogReader {
  /// Counts everything in one snapshot.
  package func status() throws(CatalogError) -> StatusCounts {
    try read { (connection) throws(CatalogError) in
      let originals = try connection.pair("SELECT count(*), coalesce(sum(size), 0) FROM original")
      let renditions = try connection.pair(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM rendition")
      let sightings = try connection.sightingCounts()
      return StatusCounts(
        assets: try connection.first("SELECT count(*) FROM asset WHERE trashed_at IS NULL") {
          $0.int(0)
        } ?? 0,
        originals: originals.0, originalBytes: originals.1, renditions: renditions.0,
        renditionBytes: renditions.1,
        sightings: try connection.pathCounts(sightings),
        pathsOnDisk: sightings.reduce(into: [:]) { counts, row in
          counts[row.source, default: [:]][row.state] = row.expected > 0 ? row.expected : nil
        },
        jobs: try connection.jobCounts(),
        orphans: try connection.first(
          "SELECT count(*) FROM member INDEXED BY member_orphan WHERE role = 'orphan'"
        ) { $0.int(0) } ?? 0,
        lastRun: try connection.lastRun())
    }
  }
}

extension Connection {
  /// Counts the jobs of assets outside the trash by configured stage and state.
  ///
  /// Assets with the same bytes share rows, so there may be fewer rows than jobs.
  fileprivate func jobCounts() throws(CatalogError) -> [String: [LedgerState: Int]] {
    let stages = try all(
      "SELECT id, name FROM stage WHERE active = 1"
    ) { ($0.int64(0), $0.text(1)) }
    let all = try jobsOfStages("SELECT stage, count(*) FROM job GROUP BY stage")
    let trashed = try jobsOfStages(
      """
      SELECT job.stage, count(*) FROM asset INDEXED BY asset_trashed CROSS JOIN job
        ON job.asset = asset.id WHERE asset.trashed_at IS NOT NULL GROUP BY job.stage
      """)
    var counts: [String: [LedgerState: Int]] = [:]
    for (stage, name) in stages {
      let unfinished = try self.all(
        """
        SELECT ledger.state, count(*)
        FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
            ON ledger.fingerprint = stage.fingerprint AND ledger.state <> 'done'
          CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
          CROSS JOIN asset ON asset.id = job.asset
        WHERE stage.id = ? AND asset.trashed_at IS NULL GROUP BY ledger.state
        """, stage
      ) { (row) throws(CatalogError) in
        (try row.value(0, as: LedgerState.self), row.int(1))
      }
      // All others are done; they are too many to count individually.
      let done =
        all[stage, default: 0] - trashed[stage, default: 0] - unfinished.reduce(0) { $0 + $1.1 }
      counts[name] = Dictionary(unfinished, uniquingKeysWith: +)
      if done > 0 { counts[name]?[.done] = done }
    }
    return counts
  }

  private func jobsOfStages(_ query: String) throws(CatalogError) -> [Int64: Int] {
    let rows = try all(query) { ($0.int64(0), $0.int(1)) }
    return Dictionary(rows, uniquingKeysWith: +)
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

  /// Counts paths by source and state, and those at which a file is expected:
  /// `Sighting.isExpected` in SQL.
  fileprivate func sightingCounts() throws(CatalogError) -> [SightingCount] {
    try all(
      """
      SELECT source.path, sighting.state, count(*),
        sum(CASE WHEN sighting.state IN ('imported', 'duplicate', 'returned')
          THEN sighting.inode IS NOT NULL ELSE sighting.state <> 'gone' END),
        sum(EXISTS (SELECT 1 FROM asset
          WHERE asset.source = sighting.source AND asset.path = sighting.path))
      FROM sighting JOIN source ON source.id = sighting.source
      GROUP BY sighting.source, sighting.state
      """
    ) { (row) throws(CatalogError) in
      SightingCount(
        source: row.path(0), state: try row.value(1, as: Sighting.State.self), all: row.int(2),
        expected: row.int(3), origins: row.int(4))
    }
  }

  /// Counts paths by state: those with a row, and those whose state an asset implies.
  fileprivate func pathCounts(
    _ stored: [SightingCount]
  ) throws(CatalogError) -> [Sighting.State: Int] {
    let origins = try first("SELECT count(*) FROM (SELECT DISTINCT source, path FROM asset)") {
      $0.int(0)
    }
    let implied = (origins ?? 0) - stored.reduce(0) { $0 + $1.origins }
    var counts: [Sighting.State: Int] = implied > 0 ? [.imported: implied] : [:]
    for row in stored { counts[row.state, default: 0] += row.all }
    return counts
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
  /// Reads a run from a row of `runColumns`.
  func run() throws(CatalogError) -> RunRecord {
    RunRecord(
      id: try assetID(0), verb: text(1), startedAt: timestamp(2),
      endedAt: optional(3, timestamp),
      counters: (try json(4).object ?? [:]).compactMapValues(\.integer))
  }
}

/// The number of sighting rows of a source in a state.
private struct SightingCount {
  let source: BytePath
  let state: Sighting.State
  let all: Int
  /// How many of them have an expected file.
  let expected: Int
  /// How many of them are the origin of an asset.
  let origins: Int
}
