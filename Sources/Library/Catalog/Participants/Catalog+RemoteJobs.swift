package import PipelineModel
package import Records

/// What other processes do for the same library.
extension Catalog {
  /// The jobs that other processes run, the oldest first.
  package func remoteJobs() throws(CatalogError) -> [RemoteJob] {
    try access.sync { (writer) throws(CatalogError) in
      guard let participation = writer.participation else { return [] }
      return try writer.connection.all(
        """
        SELECT participant.node, stage.name, asset.name, attempt.started_at
        FROM attempt CROSS JOIN participant ON participant.id = attempt.participant
          CROSS JOIN ledger ON ledger.id = attempt.ledger
          CROSS JOIN job ON job.ledger = ledger.id
          CROSS JOIN stage ON stage.id = job.stage AND stage.active
          CROSS JOIN asset ON asset.id = job.asset
        WHERE attempt.ended_at IS NULL AND participant.id <> ? ORDER BY attempt.started_at
        """, participation.id
      ) { row in
        RemoteJob(
          node: row.text(0), stage: row.text(1), name: row.path(2), since: row.timestamp(3))
      }
    }
  }

  /// Whether nobody runs a job, and none of some stages is due.
  package func isQuiet(dueIn names: Set<String>) throws(CatalogError) -> Bool {
    try write { (writer) throws(CatalogError) in
      // In one statement: what ends a job makes others due at the same moment.
      let running = writer.stages.map {
        "SELECT 1 FROM ledger WHERE fingerprint = \($0.fingerprint) AND state = 'running'"
      }
      let due = writer.dueJobs(in: names, 1)
      let parts = running + due.parts
      guard !parts.isEmpty else { return true }
      return try !writer.connection.hasRow(
        "SELECT 1 WHERE EXISTS (\(parts.joined(separator: " UNION ALL ")))", values: due.values)
    }
  }

  /// Whether jobs of some stages are due, or the library has other stages now; asked without a turn.
  package func mayHaveJobs(in names: Set<String>) throws(CatalogError) -> Bool {
    try access.sync { (writer) throws(CatalogError) in
      let due = writer.dueJobs(in: names, 3)
      let parts = ["SELECT 1 FROM setting WHERE key = ?1 AND value <> ?2"] + due.parts
      return try writer.connection.hasRow(
        "SELECT 1 WHERE EXISTS (\(parts.joined(separator: " UNION ALL ")))",
        values: [Setting.generation, writer.generation] + due.values)
    }
  }

  /// The bytes of the assets that were imported last.
  package func newestOriginals() throws(CatalogError) -> [Digest] {
    try read { (connection) throws(CatalogError) in
      try connection.all("SELECT digest FROM asset ORDER BY id DESC LIMIT 3") {
        (row) throws(CatalogError) in try row.digest(0)
      }
    }
  }

  /// A moment in the history of attempts, for `remoteOutcomes`.
  package func attemptMark() throws(CatalogError) -> AttemptMark {
    // In a turn: those who claim at this moment have numbers that nobody else sees.
    try write { (writer) throws(CatalogError) in
      guard writer.participation != nil else { return AttemptMark(last: 0, open: []) }
      return AttemptMark(
        last: try writer.connection.first("SELECT max(id) FROM attempt") { $0.int64(0) } ?? 0,
        open: try writer.connection.all("SELECT id FROM attempt WHERE ended_at IS NULL") {
          $0.int64(0)
        })
    }
  }

  /// How many attempts of other processes have ended since, by outcome.
  package func remoteOutcomes(
    since mark: AttemptMark
  ) throws(CatalogError) -> [JobEvent.Outcome: Int] {
    try access.sync { (writer) throws(CatalogError) in
      guard let participation = writer.participation else { return [:] }
      // Two parts, because the whole table would be read for an OR.
      let rows = try writer.connection.all(
        """
        SELECT outcome, count(*) FROM (
          SELECT * FROM attempt WHERE id > ?1
          UNION ALL
          SELECT attempt.* FROM json_array_elements_text(CAST(?3 AS json)) AS listed
            CROSS JOIN attempt ON attempt.id = CAST(listed.value AS INTEGER)) AS attempt
        WHERE ended_at IS NOT NULL AND participant <> ?2 AND outcome <> 'interrupted'
        GROUP BY outcome
        """, mark.last, participation.id,
        "[\(mark.open.map(String.init).joined(separator: ","))]"
      ) { (JobEvent.Outcome(rawValue: $0.text(0)), $0.int(1)) }
      return rows.reduce(into: [:]) { counts, row in
        if let outcome = row.0 { counts[outcome, default: 0] += row.1 }
      }
    }
  }

  /// Whether other processes are at work on the catalog.
  package func hasCompany() throws(CatalogError) -> Bool {
    try access.sync { (writer) throws(CatalogError) in
      guard let participation = writer.participation else { return false }
      return try writer.connection.hasRow(
        "SELECT 1 FROM participant WHERE \(PostgreSQLSchema.isLive) AND id <> ?",
        participation.id)
    }
  }
}

extension CatalogWriter {
  /// Statements that find jobs of some stages that are due.
  ///
  /// - Parameter number: the number of the next parameter.
  fileprivate func dueJobs(
    in names: Set<String>, _ number: Int
  ) -> (parts: [String], values: [any SQLBindable]) {
    let wanted = stages.filter { names.contains($0.name) }
    guard !wanted.isEmpty else { return ([], []) }
    let isNotDeclined = isNotDeclined(number)
    let now = connection.ledgerClock(number + isNotDeclined.values.count)
    let parts = wanted.map {
      """
      SELECT 1 FROM ledger WHERE fingerprint = \($0.fingerprint) AND state = 'ready'
        AND not_before <= \(now.sql) AND \(CatalogWriter.isWanted) \(isNotDeclined.sql)
      """
    }
    return (parts, isNotDeclined.values + now.values)
  }
}

/// Which attempts there were at a moment.
package struct AttemptMark: Sendable {
  /// The last one, by anybody.
  fileprivate let last: Int64
  fileprivate let open: [Int64]
}
