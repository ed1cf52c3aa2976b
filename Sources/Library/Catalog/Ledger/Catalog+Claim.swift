package import PipelineModel
package import Records

extension Catalog {
  package func claim(
    stage name: String, limit: Int, suspects: Bool
  ) throws(CatalogError) -> [ClaimedJob] {
    try access.sync { (writer) throws(CatalogError) in
      let jobs = try writer.transaction(.claiming) { () throws(CatalogError) -> [ClaimedJob] in
        guard limit > 0, let stage = writer.claimableStage(name) else { return [] }
        var room = limit
        if suspects { room -= try writer.choose(stage, limit: room, suspects: true) }
        let hasChosen = try writer.chooseOthers(stage, limit: room) || room < limit
        guard hasChosen else { return [] }
        let jobs = try writer.claimChosen(stage)
        if jobs.isEmpty { writer.connection.postgreSQL?.hasChangedNothing() }
        try writer.requireNew(jobs.map(\.token))
        return jobs
      }
      // Only after the commit, which may fail.
      if writer.participation != nil { writer.claimed.formUnion(jobs.map(\.token)) }
      return jobs
    }
  }

  package func requeue(_ tokens: [AttemptToken]) throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      try writer.transaction { () throws(CatalogError) in try writer.requeue(tokens) }
      writer.claimed.subtract(tokens)
    }
  }

  /// Gives attempts back, and leaves their jobs to others from now on.
  package func decline(_ tokens: [AttemptToken]) throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      let rows = try writer.transaction { () throws(CatalogError) in
        let rows = try writer.openRows(of: tokens)
        try writer.requeue(tokens)
        return rows
      }
      writer.claimed.subtract(tokens)
      writer.declined.formUnion(rows.values.map(\.id))
    }
  }

  package func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] {
    try read { (connection) throws(CatalogError) in try connection.backlog() }
  }

  package func nextDue(after time: Timestamp?) throws(CatalogError) -> DueTimes {
    try access.sync { (writer) throws(CatalogError) in
      let connection = writer.connection
      let after: Timestamp
      if let time { after = time } else { after = try connection.ledgerTime() }
      let now = connection.ledgerClock(2)
      // In one statement, as idle processes ask time and again.
      let parts = writer.stages.map {
        """
        SELECT \(now.sql), (SELECT not_before FROM ledger
          WHERE fingerprint = \($0.fingerprint) AND state = 'ready' AND not_before > ?1
            AND \(CatalogWriter.isWanted)
          ORDER BY not_before LIMIT 1)
        """
      }
      guard !parts.isEmpty else { return DueTimes(now: after, next: nil) }
      let times = try connection.all(
        parts.joined(separator: " UNION ALL "), values: [after] + now.values
      ) { DueTimes(now: $0.timestamp(0), next: $0.optional(1, $0.timestamp)) }
      return DueTimes(now: times[0].now, next: times.compactMap(\.next).min())
    }
  }
}

struct RunningRow {
  var id: Int64
  var fingerprint: Int64
  var digest: Digest
  /// Whether it has renditions of an earlier attempt.
  var hasRenditions = true
}

extension CatalogWriter {
  /// The rows of those of some attempts of this process that have not ended.
  func openRows(of tokens: [AttemptToken]) throws(CatalogError) -> [AttemptToken: RunningRow] {
    let list = connection.text(
      sqlite: "json_each(?)", postgreSQL: "json_array_elements_text(CAST(? AS json))")
    let isMine = participation.map { "AND attempt.participant = \($0.id)" } ?? ""
    let rows = try connection.all(
      """
      SELECT attempt.id, ledger.id, ledger.fingerprint, ledger.digest,
        \(Self.isThere("rendition WHERE rendition.ledger = ledger.id"))
      FROM \(list) AS listed CROSS JOIN attempt ON attempt.id = CAST(listed.value AS INTEGER)
        CROSS JOIN ledger ON ledger.id = attempt.ledger
      WHERE attempt.ended_at IS NULL \(isMine)
      """, "[\(tokens.map { String($0.rawValue) }.joined(separator: ","))]"
    ) { (row) throws(CatalogError) in
      (
        AttemptToken(rawValue: row.int64(0)),
        RunningRow(
          id: row.int64(1), fingerprint: row.int64(2), digest: try row.digest(3),
          hasRenditions: row.bool(4))
      )
    }
    return Dictionary(rows) { $1 }
  }

  /// A stage, unless it is none, or not the one that this process works on.
  fileprivate func claimableStage(_ name: String) -> ConfiguredStage? {
    guard var stage = stages.first(where: { $0.name == name }),
      participation?.isDraining != true
    else { return nil }
    guard let ownStages else { return stage }
    guard !refusedStages.contains(name), let own = ownStages[name], own.fingerprint == stage.value
    else { return nil }
    stage.runtime = own.runtime
    return stage
  }

  /// Gives attempts back, in the caller's transaction.
  fileprivate func requeue(_ tokens: [AttemptToken]) throws(CatalogError) {
    var fingerprints: Set<Int64> = []
    var rows = try openRows(of: tokens)
    for token in tokens {
      if try passOver(token) { continue }
      guard let row = rows.removeValue(forKey: token) else {
        try passOverOvertaken(token, nil)
        continue
      }
      endedNow.insert(token)
      try connection.execute("DELETE FROM attempt WHERE id = ?", token.rawValue)
      try connection.execute(
        """
        UPDATE ledger SET state = 'ready', attempts = max(attempts - 1, 0),
          not_before = \(Self.dueAgain) WHERE id = ?
        """, row.id)
      try touch(row.digest)
      fingerprints.insert(row.fingerprint)
    }
    // A needed row may have become ready again in the meantime.
    try updateTouchedRows(stages.filter { fingerprints.contains($0.fingerprint) })
  }

  func stale(_ token: AttemptToken) -> CatalogError {
    CatalogError(
      .staleToken,
      "The attempt \(token.rawValue) has already ended, so its outcome was not recorded.",
      path: connection.path)
  }

  /// When a row whose attempt does not count is due again: at once, but with a time if an earlier
  /// attempt failed, by which `ThumbnailGapQuery` finds it.
  static let dueAgain = "iif(ledger.class IS NULL, 0, 1)"

  /// Whether an asset outside the trash refers to a row of `ledger`.
  static let isWanted = """
    EXISTS (SELECT 1 FROM job CROSS JOIN asset ON asset.id = job.asset
      WHERE job.ledger = ledger.id AND asset.trashed_at IS NULL)
    """

  /// SQL for the rest of a condition on `ledger`, that a row is not declined, and its values.
  ///
  /// - Parameter number: the number of the parameter, after those of the rest.
  func isNotDeclined(_ number: Int) -> (sql: String, values: [any SQLBindable]) {
    if declined.isEmpty { return ("", []) }
    // One value, so that the text stays the same.
    let list = "json_array_elements_text(CAST(?\(number) AS json))"
    return (
      "AND ledger.id NOT IN (SELECT CAST(value AS bigint) FROM \(list) AS listed (value))",
      ["[\(declined.map(String.init).joined(separator: ","))]"]
    )
  }

  /// Adds ready rows to the rows to claim.
  ///
  /// - Returns: the number of rows.
  fileprivate func choose(
    _ stage: ConfiguredStage, limit: Int, suspects: Bool
  ) throws(CatalogError) -> Int {
    let choice = choice(stage, limit: limit, suspects: suspects)
    return try connection.changes(choice.sql, values: choice.values)
  }

  /// Adds ready rows that are no suspects to the rows to claim.
  ///
  /// - Returns: whether there may be some: a server is not asked, because its answer comes with the jobs.
  fileprivate func chooseOthers(
    _ stage: ConfiguredStage, limit: Int
  ) throws(CatalogError) -> Bool {
    guard limit > 0 else { return false }
    guard connection.dialect == .postgreSQL else {
      return try choose(stage, limit: limit, suspects: false) > 0
    }
    let choice = choice(stage, limit: limit, suspects: false)
    try connection.execute(choice.sql, values: choice.values)
    return true
  }

  private func choice(
    _ stage: ConfiguredStage, limit: Int, suspects: Bool
  ) -> (sql: String, values: [any SQLBindable]) {
    let isNotDeclined = isNotDeclined(4)
    let now = connection.ledgerClock(4 + isNotDeclined.values.count)
    // Others claim at the same time.
    let isLocked = connection.text(
      sqlite: "", postgreSQL: "FOR NO KEY UPDATE OF ledger SKIP LOCKED")
    return (
      """
      INSERT INTO temp.claimed (ledger) SELECT id FROM ledger
        INDEXED BY \(suspects ? "ledger_interrupted" : "ledger_claim")
      WHERE fingerprint = ?1 AND state = 'ready' AND not_before <= \(now.sql)
        AND \(suspects ? "interruptions > 0 AND interruptions >= ?2" : "interruptions < ?2")
        AND \(Self.isWanted) \(isNotDeclined.sql)
      ORDER BY not_before, id LIMIT ?3 \(isLocked)
      """,
      [stage.fingerprint, stage.attempts, limit] + isNotDeclined.values + now.values
    )
  }

  /// Records an attempt for each chosen row and reads the inputs of its job.
  fileprivate func claimChosen(_ stage: ConfiguredStage) throws(CatalogError) -> [ClaimedJob] {
    let made = participation.map { (", participant", ", \($0.id)") } ?? ("", "")
    try connection.execute(
      """
      INSERT INTO attempt (ledger, runtime, suspect, started_at\(made.0))
      SELECT ledger.id, ?1, ledger.interruptions >= ?2, ?3\(made.1)
      FROM temp.claimed CROSS JOIN ledger ON ledger.id = claimed.ledger ORDER BY claimed.position
      """, stage.runtime, stage.attempts, Timestamp.now)
    try connection.execute(
      """
      UPDATE ledger SET state = 'running', attempts = attempts + 1, not_before = 0, runtime = ?
      WHERE id IN (SELECT ledger FROM temp.claimed)
      """, stage.runtime)
    var jobs = try claimedJobs(stage)
    if jobs.isEmpty { return [] }
    if !stage.needs.isEmpty {
      let facts = try neededFacts(stage)
      for index in jobs.indices { jobs[index].facts = facts[jobs[index].token] ?? [:] }
    }
    if !stage.input.isEmpty {
      let inputs = try inputs(stage)
      for index in jobs.indices { jobs[index].input = inputs[jobs[index].token] }
    }
    if let fingerprint = jobs.first?.fingerprint, parts.hasFormer(of: fingerprint) {
      let kept = try keptResults(stage, fingerprint)
      for index in jobs.indices { jobs[index].kept = kept[jobs[index].token] }
    }
    try connection.execute("DELETE FROM temp.claimed")
    return jobs
  }

  private func claimedJobs(_ stage: ConfiguredStage) throws(CatalogError) -> [ClaimedJob] {
    try connection.all(
      """
      SELECT attempt.id, asset.id, asset.name, ledger.digest, original.size, fingerprint.value,
        ledger.asset IS NOT NULL, ledger.attempts, attempt.suspect
      FROM temp.claimed
        CROSS JOIN ledger ON ledger.id = claimed.ledger
        CROSS JOIN attempt ON attempt.ledger = ledger.id AND attempt.ended_at IS NULL
        CROSS JOIN original ON original.digest = ledger.digest
        CROSS JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        CROSS JOIN asset
          ON asset.id = (
            SELECT job.asset FROM job CROSS JOIN asset AS user ON user.id = job.asset
            WHERE job.ledger = ledger.id ORDER BY user.trashed_at IS NOT NULL, user.id LIMIT 1)
      ORDER BY claimed.position
      """
    ) { (row) throws(CatalogError) in
      ClaimedJob(
        token: AttemptToken(rawValue: row.int64(0)), stage: stage.name,
        asset: try row.assetID(1), name: row.path(2), digest: try row.digest(3),
        size: row.int(4), fingerprint: Fingerprint(try row.digest(5)),
        isAssetScoped: row.bool(6), facts: [:], attempt: row.int(7), isSuspect: row.bool(8))
    }
  }

  /// The first of the stage's inputs that each claimed row has.
  private func inputs(
    _ stage: ConfiguredStage
  ) throws(CatalogError) -> [AttemptToken: InputRendition] {
    var inputs: [AttemptToken: InputRendition] = [:]
    for (need, reference) in stage.input {
      let rows = try connection.all(
        """
        SELECT attempt.id, rendition.id, rendition.media_type, rendition.width, rendition.height,
          rendition.bytes, rendition.digest, rendition.path
        FROM temp.claimed
          CROSS JOIN ledger AS row ON row.id = claimed.ledger
          CROSS JOIN attempt ON attempt.ledger = row.id AND attempt.ended_at IS NULL
          CROSS JOIN stage AS need ON need.id = ?1
          CROSS JOIN ledger AS needed INDEXED BY ledger_key
            ON needed.digest = row.digest AND needed.fingerprint = need.fingerprint
            AND ifnull(needed.asset, x'') = iif(need.asset_scoped, row.asset, x'')
            AND needed.state = 'done'
          CROSS JOIN rendition ON rendition.ledger = needed.id AND rendition.name = ?2
        """, need, reference.name
      ) { (row) throws(CatalogError) in
        (
          AttemptToken(rawValue: row.int64(0)),
          InputRendition(
            id: row.int64(1), reference: reference, mediaType: row.text(2), width: row.int(3),
            height: row.int(4), bytes: row.int(5), digest: try row.digest(6),
            path: row.optional(7, row.text))
        )
      }
      inputs.merge(rows) { first, _ in first }
    }
    return inputs
  }

  /// What stays of the results that the claimed rows replace.
  private func keptResults(
    _ stage: ConfiguredStage, _ fingerprint: Fingerprint
  ) throws(CatalogError) -> [AttemptToken: KeptResult] {
    var kept: [AttemptToken: KeptResult] = [:]
    try connection.each(
      """
      SELECT attempt.id, former.facts, fingerprint.value, rendition.id, rendition.name,
        rendition.media_type, rendition.width, rendition.height, rendition.bytes,
        rendition.digest, rendition.made_from, rendition.path
      FROM temp.claimed
        CROSS JOIN attempt ON attempt.ledger = claimed.ledger AND attempt.ended_at IS NULL
        CROSS JOIN ledger AS former
          ON former.id = (SELECT max(job.previous_ledger) FROM job WHERE job.ledger = claimed.ledger)
            AND former.state = 'done'
        CROSS JOIN fingerprint ON fingerprint.id = former.fingerprint
        CROSS JOIN rendition ON rendition.ledger = former.id
      """
    ) { (row) throws(CatalogError) in
      let name = row.text(4)
      let shared = parts.shared(by: fingerprint, Fingerprint(try row.digest(2)))
      guard shared.contains(name) else { return }
      let token = AttemptToken(rawValue: row.int64(0))
      if kept[token] == nil {
        kept[token] = KeptResult(facts: try row.json(1), parts: shared, renditions: [])
      }
      kept[token]?.renditions.append(
        RenditionRecord(
          id: row.int64(3), stage: stage.name, name: name, mediaType: row.text(5),
          width: row.int(6), height: row.int(7), bytes: row.int(8), digest: try row.digest(9),
          from: row.optional(10, row.text), path: row.optional(11, row.text), isStale: true))
    }
    return kept
  }

  private func neededFacts(
    _ stage: ConfiguredStage
  ) throws(CatalogError) -> [AttemptToken: [String: JSONValue]] {
    let rows = try connection.all(
      """
      SELECT attempt.id, need.name, needed.facts
      FROM temp.claimed
        CROSS JOIN ledger AS row ON row.id = claimed.ledger
        CROSS JOIN attempt ON attempt.ledger = row.id AND attempt.ended_at IS NULL
        CROSS JOIN stage_need ON stage_need.stage = ?
        CROSS JOIN stage AS need ON need.id = stage_need.needs
        CROSS JOIN ledger AS needed INDEXED BY ledger_key
          ON needed.digest = row.digest AND needed.fingerprint = need.fingerprint
          AND ifnull(needed.asset, x'') = iif(need.asset_scoped, row.asset, x'')
      WHERE needed.facts IS NOT NULL
      """, stage.id
    ) { (row) throws(CatalogError) in
      (AttemptToken(rawValue: row.int64(0)), row.text(1), try row.json(2))
    }
    return rows.reduce(into: [:]) { $0[$1.0, default: [:]][$1.1] = $1.2 }
  }
}
