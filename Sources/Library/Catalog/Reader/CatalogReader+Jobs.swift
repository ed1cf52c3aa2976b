package import PipelineModel
package import Records

extension CatalogReader {
  /// Returns the jobs of an asset for the configured stages, in stage order.
  package func jobs(of asset: AssetID) throws(CatalogError) -> [JobRecord] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT stage.name, ledger.state, ledger.attempts + ledger.interruptions,
          \(StageHold.failureClass), \(StageHold.reason), ledger.facts, ledger.seconds, ledger.finished_at,
          nullif(ledger.not_before, 0)
        FROM job JOIN stage ON stage.id = job.stage AND stage.active = 1
          JOIN ledger ON ledger.id = job.ledger
        WHERE job.asset = ? ORDER BY stage.position
        """, asset
      ) { (row) throws(CatalogError) in
        JobRecord(
          stage: row.text(0), state: try row.value(1, as: LedgerState.self),
          attempts: row.int(2), failureClass: row.optional(3, row.text),
          reason: row.optional(4, row.text), facts: try row.optionalJSON(5),
          seconds: row.optional(6, row.double), finishedAt: row.optional(7, row.timestamp),
          notBefore: row.optional(8, row.timestamp))
      }
    }
  }

  /// Returns the attempts at an asset's job, the oldest first.
  package func attempts(of asset: AssetID, stage: String) throws(CatalogError) -> [AttemptRecord] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT attempt.started_at, attempt.ended_at, attempt.outcome, attempt.class,
          attempt.reason, attempt.seconds, runtime.versions, runtime.limits, attempt.suspect
        FROM job JOIN stage ON stage.id = job.stage
          JOIN attempt ON attempt.ledger = job.ledger
          JOIN runtime ON runtime.id = attempt.runtime
        WHERE job.asset = ? AND stage.name = ? ORDER BY attempt.id
        """, asset, stage
      ) { (row) throws(CatalogError) in
        AttemptRecord(
          startedAt: row.timestamp(0), endedAt: row.optional(1, row.timestamp),
          outcome: row.isNull(2) ? nil : try row.value(2, as: AttemptRecord.Outcome.self),
          failureClass: row.optional(3, row.text), reason: row.optional(4, row.text),
          seconds: row.optional(5, row.double), runtime: row.text(6), limits: row.text(7),
          isSuspect: row.bool(8))
      }
    }
  }

  /// Calls a body for each failed job of assets outside the trash, by asset and stage.
  ///
  /// Includes jobs that wait for another attempt, or because their stage is held. Omits jobs that
  /// are no longer failures when their page is read.
  ///
  /// - Throws: errors of the body, or a `CatalogError`.
  package func failures(_ body: (FailureRecord) throws -> Void) throws {
    var rest = try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT asset.id, stage.id \(Self.failedJobs) ORDER BY asset.id, stage.position
        """
      ) { (row) throws(CatalogError) in (try row.assetID(0), row.int64(1)) }
    }[...]
    while !rest.isEmpty {
      let page = rest.prefix(Self.pageSize)
      rest = rest.dropFirst(page.count)
      for failure in try failures(among: page) { try body(failure) }
    }
  }

  private func failures(
    among jobs: ArraySlice<(AssetID, Int64)>
  ) throws(CatalogError) -> [FailureRecord] {
    try read { (connection) throws(CatalogError) in
      var failures: [FailureRecord] = []
      for (asset, stage) in jobs {
        let failure = try connection.first(
          """
          SELECT asset.id, asset.name, stage.name, \(StageHold.failureClass), \(StageHold.reason),
            ledger.attempts + ledger.interruptions
          FROM job CROSS JOIN stage ON stage.id = job.stage
            CROSS JOIN ledger ON ledger.id = job.ledger CROSS JOIN asset ON asset.id = job.asset
          WHERE job.asset = ? AND job.stage = ? AND \(StageHold.isFailure)
          """, asset, stage
        ) { (row) throws(CatalogError) in
          FailureRecord(
            asset: try row.assetID(0), name: row.path(1), stage: row.text(2),
            failureClass: row.text(3), reason: row.text(4), attempts: row.int(5))
        }
        if let failure { failures.append(failure) }
      }
      return failures
    }
  }

  package func failures() throws -> [FailureRecord] {
    var failures: [FailureRecord] = []
    try self.failures { failures.append($0) }
    return failures
  }

  package func failureCount() throws(CatalogError) -> Int {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT count(*) \(Self.failedJobs)") { $0.int(0) } ?? 0
    }
  }

  static let failedJobs = """
    FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
        ON ledger.fingerprint = stage.fingerprint AND ledger.state IN ('failed', 'ready')
          AND \(StageHold.isFailure)
      CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
      CROSS JOIN asset ON asset.id = job.asset
    WHERE stage.active = 1 AND asset.trashed_at IS NULL
    """

  /// Returns recorded renditions after a key, in key order, including those of former stages.
  ///
  /// Renditions that no configured stage refers to are stale. The stage is the first
  /// that refers to the rendition.
  package func renditions(after id: Int64, limit: Int) throws(CatalogError) -> [RenditionRecord] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        Self.recordedRenditions + " WHERE rendition.id > ? ORDER BY rendition.id LIMIT ?", id, limit
      ) { (row) throws(CatalogError) in try row.rendition(0) }
    }
  }

  /// Returns a rendition, or `nil` if there is none with this key.
  package func rendition(_ id: Int64) throws(CatalogError) -> RenditionRecord? {
    try renditions(after: id - 1, limit: 1).first { $0.id == id }
  }

  /// Returns a rendition as `rendition` does, but never stale, and with its bytes or what finds them, by one
  /// statement. For callers that only read its bytes.
  ///
  /// - Parameters:
  ///   - most: the most bytes to read with the record.
  ///   - withStage: whether the stage is looked up, too; otherwise it is empty.
  package func storedRendition(
    _ id: Int64, most: Int, withStage: Bool = false
  ) throws(CatalogError) -> StoredRendition? {
    // One statement sees one snapshot without a transaction.
    try access.syncReentrantly { (connection) throws(CatalogError) in
      let columns = """
        rendition.id, \(withStage ? Self.stageOfRendition : "''"), rendition.name, media_type, width,
        height, bytes, rendition.digest, made_from, path, 0
        """
      guard renditions != nil else {
        func stored(_ most: Int) throws(CatalogError) -> StoredRendition? {
          try connection.first(
            """
            SELECT \(columns), CASE WHEN rendition.bytes <= ?2 THEN content END
            FROM rendition LEFT JOIN rendition_bytes ON rendition_bytes.rendition = rendition.id
            WHERE rendition.id = ?1
            """, id, most
          ) { (row) throws(CatalogError) in
            StoredRendition(try row.rendition(0), row.optional(11, row.blob).map { .bytes($0) })
          }
        }
        do throws(CatalogError) {
          return try stored(most)
        } catch  where error.code == .corrupt {
          // A damaged page of the bytes leaves the record.
          return try stored(-1)
        }
      }
      return try connection.first(
        """
        SELECT \(columns), \(RenditionKey.columns)
        FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
          CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        WHERE rendition.id = ?
        """, id
      ) { (row) throws(CatalogError) in
        let record = try row.rendition(0)
        return StoredRendition(record, record.path == nil ? .key(try row.renditionKey(11)) : nil)
      }
    }
  }

  private static let stageOfRendition = """
    coalesce(
      (SELECT stage.name FROM job JOIN stage ON stage.id = job.stage
        WHERE job.ledger = rendition.ledger ORDER BY stage.active DESC, stage.position
        LIMIT 1),
      (SELECT stage.name FROM job JOIN stage ON stage.id = job.stage
        WHERE job.previous_ledger = rendition.ledger
        ORDER BY stage.active DESC, stage.position LIMIT 1), '')
    """

  private static let recordedRenditions = """
    SELECT rendition.id, \(stageOfRendition), rendition.name, rendition.media_type, rendition.width, rendition.height,
      rendition.bytes, rendition.digest, rendition.made_from, rendition.path,
      NOT EXISTS (SELECT 1 FROM job JOIN stage ON stage.id = job.stage
        WHERE job.ledger = rendition.ledger AND stage.active = 1)
    FROM rendition
    """
}

extension CatalogReader {
  /// The number of newest ended rows to average.
  private static let sample = 1000

  /// Returns how many jobs of a stage ended in the last minute; `nil` if none did.
  ///
  /// - Parameter now: the time.
  package func endedPerMinute(
    ofStage name: String, now: Timestamp
  ) throws(CatalogError) -> Double? {
    let minute = 60_000_000
    return try read { (connection) throws(CatalogError) in
      try connection.first(
        """
        SELECT count(*), min(ledger.finished_at)
        FROM (\(Self.newest)) AS newest CROSS JOIN ledger ON ledger.id = newest.id
        WHERE ledger.finished_at > ?2
        """, name, now.microseconds - Int64(minute)
      ) { row -> Double? in
        let count = row.int(0)
        if count == 0 { return nil }
        // Only the newest are counted, which may all be of the last seconds.
        guard count >= Self.sample else { return Double(count) }
        let time = max(1, now.microseconds - row.int64(1))
        return Double(count) * Double(minute) / Double(time)
      } ?? nil
    }
  }

  /// The newest ended rows of a stage, one index search per state, so that no other rows are read.
  private static let newest: String = {
    let each = ["done", "skipped", "failed"].map { state in
      """
      SELECT * FROM (SELECT id FROM ledger INDEXED BY ledger_claim
        WHERE fingerprint = (SELECT fingerprint FROM stage WHERE name = ?1)
          AND state = '\(state)' AND not_before = 0 ORDER BY id DESC LIMIT \(sample))
      """
    }
    let all = each.joined(separator: " UNION ALL ")
    return "SELECT id FROM (\(all)) ORDER BY id DESC LIMIT \(sample)"
  }()

  /// Forecasts a stage as configured now, even if the ledger does not know it yet.
  ///
  /// The history is that of the stage with this name, with its last options.
  package func forecast(_ stage: StageDefinition) throws(CatalogError) -> StageForecast {
    try read { (connection) throws(CatalogError) in
      let due = try connection.first(
        """
        SELECT iif(?1, (SELECT count(*) FROM asset WHERE trashed_at IS NULL),
            (SELECT count(*) FROM original))
          - (SELECT count(*) FROM ledger INDEXED BY ledger_claim
              WHERE fingerprint = (SELECT id FROM fingerprint WHERE value = ?2)
                AND state IN ('done', 'skipped', 'failed'))
        """, stage.isAssetScoped, stage.fingerprint
      ) { $0.int(0) }
      return try connection.first(
        """
        SELECT avg(seconds), avg(bytes) FROM (
          SELECT iif(ledger.state = 'done' AND ledger.seconds = 0, NULL,
              coalesce(ledger.seconds, 0)) AS seconds, (SELECT coalesce(sum(rendition.bytes), 0) FROM rendition
              WHERE rendition.ledger = ledger.id) AS bytes
          FROM (\(Self.newest)) AS newest CROSS JOIN ledger ON ledger.id = newest.id)
        """, stage.name
      ) { row in
        StageForecast(
          due: max(0, due ?? 0), seconds: row.optional(0, row.double),
          bytes: row.optional(1, row.double))
      } ?? StageForecast(due: max(0, due ?? 0))
    }
  }
}
