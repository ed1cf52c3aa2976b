import PipelineModel
package import Records

extension Catalog {
  package func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    let (unused, dropped) = try access.sync { (writer) throws(CatalogError) in
      // Bytes for a database of their own go first: a kill in between leaves some that no row names.
      try writer.keepBytes(of: completions)
      let unused = try writer.transaction { () throws(CatalogError) in
        try writer.record(completions)
        return try writer.consumeDiscardedFiles()
      }
      // Only after the commit, which may fail.
      writer.claimed.subtract(completions.map(\.token))
      writer.overtaken.formUnion(writer.overtakenNow)
      return (unused, writer.droppedNow)
    }
    if dropped > 0 { listener.hear(.overtaken(dropped)) }
    return unused
  }

  package func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    try access.sync { (writer) throws(CatalogError) in
      let overtaken = writer.overtaken.intersection(tokens)
      writer.overtaken.subtract(overtaken)
      return overtaken.union(tokens.filter { writer.withdrawn[$0] != nil })
    }
  }

  /// Takes the unreferenced rendition files off the list.
  ///
  /// - Returns: their paths below the library, for the caller to remove.
  package func consumeDiscardedFiles() throws(CatalogError) -> [String] {
    try write { (writer) throws(CatalogError) in try writer.consumeDiscardedFiles() }
  }
}

extension CatalogWriter {
  /// Ends attempts, and makes ready or discards what follows from them.
  fileprivate func record(_ completions: [Completion]) throws(CatalogError) {
    var fingerprints: Set<Int64> = []
    var tried: Set<Int64> = []
    var ended = 0
    var rows = try openRows(of: completions.map(\.token))
    for completion in completions {
      if try passOver(completion.token, completion.outcome) { continue }
      guard let row = rows.removeValue(forKey: completion.token) else {
        try passOverOvertaken(completion.token, completion.outcome)
        continue
      }
      let state = try record(completion, of: row)
      endedNow.insert(completion.token)
      ended += 1
      try touch(row.digest)
      fingerprints.insert(row.fingerprint)
      if state == .ready || state == .failed { tried.insert(row.fingerprint) }
    }
    let dependents = stages.dependents(ofFingerprints: fingerprints).map(\.id)
    try updateTouchedRows(
      stages.filter { dependents.contains($0.id) || tried.contains($0.fingerprint) })
    try discardReplaced()
    try countEnded(ended)
  }

  /// Ends an attempt and records the outcome in its row.
  ///
  /// - Returns: the row's new state.
  private func record(
    _ completion: Completion, of row: RunningRow
  ) throws(CatalogError) -> LedgerState {
    let now = Timestamp.now
    var (state, facts, reason, failure) =
      (LedgerState.done, String?.none, String?.none, String?.none)
    var notBefore = Timestamp(microseconds: 0)
    var outcome = AttemptRecord.Outcome.done
    // Attempts are counted when claimed, so that a crash leaves a suspect.
    var uncounted = 0
    switch completion.outcome {
    case .done(_, let renditions) where try lacksFormerBytes(renditions):
      // Its next attempt keeps what is left.
      (state, outcome, failure) = (.ready, .failed, "transient")
      notBefore = Timestamp(microseconds: 1)
      reason = "A rendition that the job was to keep is gone, so it is made again."
      uncounted = 1
    case .done(let value, let renditions):
      facts = try Catalog.json(value)
      try replaceRenditions(of: row, with: renditions)
    case .skipped(let sentence, let kind):
      (state, outcome, reason, failure) = (.skipped, .skipped, sentence, kind)
      try replaceRenditions(of: row, with: [])
    case .failed(let kind, let sentence, let retryAt):
      (state, outcome, reason, failure) = (.failed, .failed, sentence, kind)
      if let retryAt { (state, notBefore) = (.ready, retryAt) }
      // The file is not to blame, and keeps its remaining attempts.
      if kind == "environment" { uncounted = 1 }
    }
    try connection.execute(
      """
      UPDATE attempt SET ended_at = ?, outcome = ?, class = ?, reason = ?, seconds = ?
      WHERE id = ?
      """, now, outcome.rawValue, failure, reason, completion.seconds, completion.token.rawValue)
    try connection.execute(
      """
      UPDATE ledger SET state = ?, facts = ?, reason = ?, class = ?, not_before = ?, seconds = ?,
        finished_at = ?, attempts = max(attempts - ?, 0) WHERE id = ?
      """, state.rawValue, facts, reason, failure, notBefore, completion.seconds, now, uncounted,
      row.id)
    if state == .done || state == .skipped {
      try connection.execute(
        "INSERT INTO temp.finished (ledger) VALUES (?) ON CONFLICT DO NOTHING", row.id)
    }
    // Its jobs may have been assigned another row while it was running.
    try connection.execute(
      "INSERT INTO temp.doomed (ledger) VALUES (?) ON CONFLICT DO NOTHING", row.id)
    return state
  }

  private func replaceRenditions(
    of row: RunningRow, with renditions: [NewRendition]
  ) throws(CatalogError) {
    // To tell a server needs no round trip, to ask it would.
    let mayHaveSome =
      connection.dialect == .postgreSQL
      ? true : try connection.hasRow("SELECT 1 FROM rendition WHERE ledger = ?", row.id)
    if mayHaveSome {
      try connection.execute(
        """
        INSERT INTO discarded_file (path, fingerprint, digest, asset)
        SELECT rendition.path, ledger.fingerprint, ledger.digest, ledger.asset
        FROM rendition JOIN ledger ON ledger.id = rendition.ledger
        WHERE rendition.ledger = ? AND rendition.path IS NOT NULL
        ON CONFLICT DO NOTHING
        """, row.id)
      try discardBytes(where: "ledger.id = ?", row.id)
      try connection.execute("DELETE FROM rendition WHERE ledger = ?", row.id)
    }
    for rendition in renditions {
      var path: String?
      if case .file(let name) = rendition.content { path = name }
      if let former = rendition.former, try takeOver(former, to: row, rendition.content, path) {
        continue
      }
      try insert(rendition, ledger: row.id, path: path)
    }
  }

  /// Whether bytes that one of these is to keep are gone: they were damaged, and are made anew.
  private func lacksFormerBytes(_ renditions: [NewRendition]) throws(CatalogError) -> Bool {
    for rendition in renditions where rendition.content == .former {
      guard let former = rendition.former, try connection.size(of: former) != nil else {
        return true
      }
    }
    return false
  }

  /// Inserts the row of a rendition, and with it the bytes that belong in the catalog.
  private func insert(
    _ rendition: NewRendition, ledger: Int64, path: String?
  ) throws(CatalogError) {
    let insertion = """
      INSERT INTO rendition
        (ledger, name, media_type, width, height, bytes, digest, made_from, path)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    let values: [any SQLBindable] = [
      ledger, rendition.name, rendition.mediaType, rendition.width, rendition.height,
      rendition.bytes, rendition.digest, rendition.from, path,
    ]
    // One statement for both, so that nobody waits for the key in between.
    let copy: (content: String, value: any SQLBindable)
    switch rendition.content {
    case .database(let bytes) where renditions == nil:
      copy = ("SELECT id, ? FROM inserted", SQLValue.blob(bytes))
    case .former:
      copy = (
        "SELECT id, content FROM inserted CROSS JOIN rendition_bytes WHERE rendition = ?",
        rendition.former
      )
    case .database, .file:
      return try connection.execute(insertion, values: values)
    }
    try connection.execute(
      """
      WITH inserted AS (\(insertion) RETURNING id)
      INSERT INTO rendition_bytes (rendition, content) \(copy.content)
      """, values: values + [copy.value])
  }

  /// Moves the row of a stale result's rendition to the row that replaces that result.
  ///
  /// Its bytes in the old place are discarded, unless they stay there; a file, or a database of renditions,
  /// has them in the new one already.
  ///
  /// - Parameter path: the new file; `nil` if the bytes are in the database.
  /// - Returns: `false` if the rendition is gone, or other jobs need the result.
  private func takeOver(
    _ rendition: Int64, to row: RunningRow, _ content: RenditionContent, _ path: String?
  ) throws(CatalogError) -> Bool {
    let former = try connection.first("SELECT ledger FROM rendition WHERE id = ?", rendition) {
      $0.int64(0)
    }
    guard let former,
      try !connection.hasRow("SELECT 1 FROM job WHERE ledger = ?", former),
      try !connection.hasRow(
        "SELECT 1 FROM job WHERE previous_ledger = ? AND ledger <> ?", former, row.id)
    else { return false }
    if content != .former {
      try discardBytes(where: "rendition.id = ?", rendition)
      try connection.removeBytes(of: rendition)
    }
    try connection.execute(
      """
      INSERT INTO discarded_file (path, fingerprint, digest, asset)
      SELECT rendition.path, ledger.fingerprint, ledger.digest, ledger.asset
      FROM rendition CROSS JOIN ledger ON ledger.id = rendition.ledger
      WHERE rendition.id = ? AND rendition.path IS NOT NULL
      ON CONFLICT DO NOTHING
      """, rendition)
    try connection.execute(
      "UPDATE rendition SET ledger = ?, path = ? WHERE id = ?", row.id, path, rendition)
    if case .database(let bytes) = content { try addBytes(bytes, of: rendition) }
    return true
  }

  /// Discards the stale rows that the finished rows replace.
  private func discardReplaced() throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.doomed (ledger)
      SELECT job.previous_ledger FROM temp.finished CROSS JOIN job ON job.ledger = finished.ledger
      WHERE job.previous_ledger IS NOT NULL
      ON CONFLICT DO NOTHING
      """)
    try connection.execute(
      """
      UPDATE job SET previous_ledger = NULL
      WHERE ledger IN (SELECT ledger FROM temp.finished) AND previous_ledger IS NOT NULL
      """)
    try connection.execute("DELETE FROM temp.finished")
    try discardDoomed()
  }

  /// Deletes the doomed rows that no job refers to.
  ///
  /// - Parameter withRunning: whether to delete running rows, too.
  /// - Returns: the number and bytes of the deleted renditions.
  @discardableResult
  func discardDoomed(withRunning: Bool = false) throws(CatalogError) -> (count: Int, bytes: Int) {
    try connection.execute(
      """
      DELETE FROM temp.doomed WHERE
        EXISTS (SELECT 1 FROM job WHERE job.ledger = doomed.ledger)
        OR EXISTS (SELECT 1 FROM job WHERE job.previous_ledger = doomed.ledger)
        OR NOT ?1 AND EXISTS (
          SELECT 1 FROM ledger WHERE id = doomed.ledger AND state = 'running')
      """, withRunning)
    let count = try connection.first("SELECT count(*) FROM temp.doomed") { $0.int(0) } ?? 0
    guard count > 0 else { return (0, 0) }
    let renditions = try connection.first(
      """
      SELECT count(*), coalesce(sum(rendition.bytes), 0)
      FROM temp.doomed CROSS JOIN rendition ON rendition.ledger = doomed.ledger
      """
    ) { ($0.int(0), $0.int(1)) }
    try connection.execute(
      """
      INSERT INTO discarded_file (path, fingerprint, digest, asset)
      SELECT rendition.path, ledger.fingerprint, ledger.digest, ledger.asset
      FROM temp.doomed CROSS JOIN ledger ON ledger.id = doomed.ledger
        CROSS JOIN rendition ON rendition.ledger = ledger.id
      WHERE rendition.path IS NOT NULL
      ON CONFLICT DO NOTHING
      """)
    try discardBytes(where: "ledger.id IN (SELECT ledger FROM temp.doomed)")
    try connection.execute("DELETE FROM ledger WHERE id IN (SELECT ledger FROM temp.doomed)")
    try connection.execute("DELETE FROM temp.doomed")
    return renditions ?? (0, 0)
  }

  /// Empties the list of discarded files and returns those to remove.
  ///
  /// Omits a file whose row exists again: in SQLite a new attempt writes, or has written, to the same
  /// path. In PostgreSQL each attempt has its own.
  func consumeDiscardedFiles() throws(CatalogError) -> [String] {
    guard removesFiles else { return [] }
    let isDue =
      connection.dialect == .postgreSQL
      ? "FALSE"
      : """
      EXISTS (SELECT 1 FROM ledger WHERE ledger.digest = discarded_file.digest
          AND ledger.fingerprint = discarded_file.fingerprint
          AND ifnull(ledger.asset, x'') = ifnull(discarded_file.asset, x'')
          AND ledger.state IN ('waiting', 'ready', 'running'))
      """
    let paths = try connection.all(
      """
      SELECT path FROM discarded_file
      WHERE NOT EXISTS (SELECT 1 FROM rendition WHERE rendition.path = discarded_file.path)
        AND NOT \(isDue)
      """
    ) { $0.text(0) }
    try connection.execute("DELETE FROM discarded_file")
    return paths
  }
}
