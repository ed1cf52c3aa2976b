import PipelineModel
package import Records

extension Catalog {
  @discardableResult
  package func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] {
    let definitions = try StageDefinition.json(stages)
    try access.sync { (writer) throws(CatalogError) in
      let (configured, parts) = try writer.transaction { () throws(CatalogError) in
        let known = try writer.connection.first(Setting.read, Setting.stages) { $0.text(0) }
        if known != definitions {
          try writer.replaceStages(stages, known: known)
          try writer.connection.execute(Setting.write, Setting.stages, definitions)
        }
        for stage in stages where stage.held != nil {
          try writer.hold(stage.name, because: stage.held)
        }
        let parts = try writer.parts.recording(stages, writer.connection)
        if known != definitions || parts != writer.parts { try writer.renewGeneration() }
        return (try ConfiguredStage.all(writer.connection), parts)
      }
      // Only after the commit, which may fail.
      writer.stages = configured
      writer.parts = parts
    }
    let failed = try write { (writer) throws(CatalogError) in
      try writer.endInterruptedAttempts(writer.stages)
    }
    try write { (writer) throws(CatalogError) in try writer.completeCounters() }
    // Others may use the catalog between the steps.
    while !isStopped(),
      try write({ (writer) throws(CatalogError) in
        try writer.runConfigurationStep()
      })
    {}
    while !isStopped(),
      try write({ (writer) throws(CatalogError) in
        try writer.addNextPictures()
      })
    {}
    while !isStopped(),
      try write({ (writer) throws(CatalogError) in
        try writer.formNextGroups()
      })
    {}
    return failed
  }

  package func hold(stage: String, because reason: String?) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in try writer.hold(stage, because: reason) }
  }
}

extension CatalogWriter {
  /// Records why no job of a stage can run; `nil` if jobs can run.
  fileprivate func hold(_ stage: String, because reason: String?) throws(CatalogError) {
    let changed = try connection.changes(
      "UPDATE stage SET held = ?1 WHERE name = ?2 AND held IS NOT ?1", reason, stage)
    if changed > 0 { try reviseAssets(waitingFor: stage) }
  }

  /// Records the stages, and the work that follows for existing assets and rows.
  ///
  /// - Parameter known: the last definitions, as stored.
  fileprivate func replaceStages(
    _ definitions: [StageDefinition], known: String?
  ) throws(CatalogError) {
    // Treat unreadable definitions as unknown.
    let known = known.flatMap { try? JSONText.decode(JSONValue.self, from: $0) }
    let stages = try ConfiguredStage.all(connection)
    let shown = stages.map(\.id)
    let before = Dictionary(stages.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    let unfinished = try ConfigurationProgress.read(connection) != nil
    let described = try describingStages()
    let recordedBefore = Set(try connection.all("SELECT id FROM stage") { $0.int64(0) })
    try connection.execute("UPDATE stage SET active = 0")
    try connection.execute("DELETE FROM stage_need")
    var recorded: [String: ConfiguredStage] = [:]
    for (position, definition) in definitions.enumerated() {
      recorded[definition.name] = try record(definition, at: position, needing: recorded)
    }
    var progress = ConfigurationProgress()
    for definition in definitions {
      guard let stage = recorded[definition.name] else { continue }
      let old = before[stage.name]
      let isOther =
        old?.fingerprint != stage.fingerprint || old?.isAssetScoped != stage.isAssetScoped
      // After an unfinished change, the progress of each stage is unknown.
      if unfinished || isOther { progress.assigned.append(stage.name) }
      if unfinished || definition.acceptsOther(than: known) {
        progress.reconsidered.append(stage.name)
      }
    }
    let kept = definitions.compactMap { recorded[$0.name]?.id }.filter(recordedBefore.contains)
    if unfinished || kept != shown { progress.isRevising = true }
    try progress.write(connection)
    // A new stage gives jobs to all assets, page by page, which outdates their rows. One that is
    // gone, that comes back, or that has another place changes what is known at once.
    let describing = try describingStages()
    let isAdded = { !described.contains($0) && !recordedBefore.contains($0.id) }
    if describing.filter({ !isAdded($0) }) != described { try makePicturesAnew() }
  }

  private func record(
    _ definition: StageDefinition, at position: Int, needing earlier: [String: ConfiguredStage]
  ) throws(CatalogError) -> ConfiguredStage {
    var needs: [ConfiguredStage] = []
    for name in Set(definition.needs) {
      guard let need = earlier[name] else {
        throw CatalogError(
          .database,
          "The stage “\(definition.name)” needs “\(name)”, which is not listed before it.")
      }
      needs.append(need)
    }
    // A stage that needs an asset-scoped one is asset-scoped, whatever its plugin says.
    let isAssetScoped = definition.isAssetScoped || needs.contains(where: \.isAssetScoped)
    let fingerprint = try rowID(
      "SELECT id FROM fingerprint WHERE value = ?",
      "INSERT INTO fingerprint (value) VALUES (?)", [definition.fingerprint])
    let runtime = try rowID(
      "SELECT id FROM runtime WHERE versions = ? AND limits = ?",
      "INSERT INTO runtime (versions, limits) VALUES (?, ?)",
      [definition.runtime, definition.limits])
    try connection.execute(
      """
      INSERT INTO stage
        (name, plugin, fingerprint, runtime, asset_scoped, attempts, position, active)
      VALUES (?, ?, ?, ?, ?, ?, ?, TRUE)
      ON CONFLICT (name) DO UPDATE SET plugin = excluded.plugin,
        fingerprint = excluded.fingerprint, runtime = excluded.runtime,
        asset_scoped = excluded.asset_scoped, attempts = excluded.attempts,
        position = excluded.position, active = 1
      """, definition.name, definition.plugin, fingerprint, runtime, isAssetScoped,
      max(1, definition.attempts), position)
    let id = try rowID("SELECT id FROM stage WHERE name = ?", nil, [definition.name])
    for need in needs {
      try connection.execute("INSERT INTO stage_need (stage, needs) VALUES (?, ?)", id, need.id)
    }
    return ConfiguredStage(
      id: id, name: definition.name, plugin: definition.plugin, fingerprint: fingerprint,
      value: definition.fingerprint, runtime: runtime, isAssetScoped: isAssetScoped,
      attempts: max(1, definition.attempts),
      needs: Set(needs.map(\.id)))
  }

  /// Finds a row by its values, or inserts it.
  func rowID(
    _ select: String, _ insert: String?, _ values: [any SQLBindable]
  ) throws(CatalogError) -> Int64 {
    if let id = try connection.first(select, values: values, read: { $0.int64(0) }) { return id }
    guard let insert else { return 0 }
    return try connection.insert(insert, values: values)
  }

  /// Ends attempts that an earlier process left open, or one that is gone.
  ///
  /// They don't count as attempts, because a kill or a reboot may have caused
  /// them. A row with as many interruptions as allowed attempts is a suspect; it
  /// fails only if it is interrupted again while it runs alone.
  ///
  /// - Returns: the jobs that failed, of configured stages and assets outside the trash.
  func endInterruptedAttempts(
    _ stages: [ConfiguredStage]
  ) throws(CatalogError) -> [JobEvent] {
    let fingerprints = Set(
      try connection.all(
        """
        SELECT DISTINCT ledger.fingerprint
        FROM attempt INDEXED BY attempt_open CROSS JOIN ledger ON ledger.id = attempt.ledger
        WHERE attempt.ended_at IS NULL AND \(isInterrupted("attempt"))
        """
      ) { $0.int64(0) })
    guard !fingerprints.isEmpty else { return [] }
    let now = Timestamp.now
    try connection.execute(
      """
      INSERT INTO temp.touched (digest)
      SELECT DISTINCT ledger.digest
      FROM attempt INDEXED BY attempt_open CROSS JOIN ledger ON ledger.id = attempt.ledger
      WHERE attempt.ended_at IS NULL AND \(isInterrupted("attempt"))
      """)
    try connection.execute(
      """
      UPDATE ledger SET
        state = iif(open.suspect, 'failed', 'ready'),
        class = iif(open.suspect, 'permanent', ledger.class),
        reason = iif(open.suspect, 'The program ended ' || (ledger.interruptions + 1)
          || ' times while this job was running.', ledger.reason),
        finished_at = iif(open.suspect, ?1, ledger.finished_at),
        interruptions = ledger.interruptions + 1,
        attempts = max(ledger.attempts - 1, 0),
        not_before = \(Self.dueAgain)
      FROM attempt AS open
      WHERE open.ledger = ledger.id AND open.ended_at IS NULL AND \(isInterrupted("open"))
      """, now)
    let failed = try connection.all(
      """
      SELECT asset.id, asset.name, stage.name, ledger.reason
      FROM attempt INDEXED BY attempt_open CROSS JOIN ledger ON ledger.id = attempt.ledger
        CROSS JOIN job ON job.ledger = ledger.id
        CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
        CROSS JOIN asset ON asset.id = job.asset
      WHERE attempt.ended_at IS NULL AND \(isInterrupted("attempt")) AND ledger.state = 'failed'
        AND asset.trashed_at IS NULL
      ORDER BY asset.id
      """
    ) { (row) throws(CatalogError) in
      JobEvent(
        asset: try row.assetID(0), name: row.path(1), stage: row.text(2), outcome: .failed,
        failureClass: "permanent", reason: row.text(3), seconds: 0)
    }
    try connection.execute(
      """
      UPDATE attempt SET ended_at = ?, outcome = 'interrupted'
      WHERE ended_at IS NULL AND \(isInterrupted("attempt"))
      """, now)
    let own = stages.filter { fingerprints.contains($0.fingerprint) }.map(\.id)
    let dependents = stages.dependents(ofFingerprints: fingerprints).map(\.id)
    let concerned = Set(own + dependents)
    try updateTouchedRows(stages.filter { concerned.contains($0.id) })
    return failed
  }
}
