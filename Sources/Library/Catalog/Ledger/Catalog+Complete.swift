import PipelineModel
package import Records

extension Catalog {
  package func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    let (unused, dropped) = try access.sync { (writer) throws(CatalogError) in
      // Bytes for a database of their own go first: a kill in between leaves some that no row names.
      try writer.keepBytes(of: completions)
      let unused = try writer.transaction(.completing) { () throws(CatalogError) in
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
    var ends = AttemptEnds()
    let isRetried = completions.contains {
      if case .failed(_, _, retryAt: .some) = $0.outcome { true } else { false }
    }
    let lead = isRetried ? try ledgerLead() : 0
    for completion in completions {
      if try passOver(completion.token, completion.outcome) { continue }
      guard let row = rows.removeValue(forKey: completion.token) else {
        // That reads what the others have become.
        try write(ends)
        ends = AttemptEnds()
        try passOverOvertaken(completion.token, completion.outcome)
        continue
      }
      let end = try end(completion, of: row, &ends.renditions, lead: lead)
      ends.attempts.append(end)
      endedNow.insert(completion.token)
      ended += 1
      fingerprints.insert(row.fingerprint)
      if end.state == .ready || end.state == .failed { tried.insert(row.fingerprint) }
    }
    try write(ends)
    let dependents = stages.dependents(ofFingerprints: fingerprints).map(\.id)
    try updateTouchedRows(
      stages.filter { dependents.contains($0.id) || tried.contains($0.fingerprint) })
    try discardReplaced()
    try countEnded(ended)
  }

  /// By how many seconds the ledger's clock is ahead of this machine's.
  private func ledgerLead() throws(CatalogError) -> Double {
    // Both are this machine's.
    if connection.dialect == .sqlite { return 0 }
    return Double(try connection.ledgerTime().microseconds - Timestamp.now.microseconds) / 1e6
  }

  /// Replaces the renditions of a row, and decides what its attempt has come to.
  ///
  /// - Parameters:
  ///   - rest: receives renditions that are still to be inserted.
  ///   - lead: by how many seconds the ledger's clock is ahead of this machine's.
  private func end(
    _ completion: Completion, of row: RunningRow, _ rest: inout [SmallRendition], lead: Double
  ) throws(CatalogError) -> AttemptEnd {
    var end = AttemptEnd(
      token: completion.token, row: row, state: .done, outcome: .done, seconds: completion.seconds,
      at: .now)
    switch completion.outcome {
    case .done(_, let renditions) where try lacksFormerBytes(renditions):
      // Its next attempt keeps what is left.
      (end.state, end.outcome, end.failure) = (.ready, .failed, "transient")
      end.notBefore = Timestamp(microseconds: 1)
      end.reason = "A rendition that the job was to keep is gone, so it is made again."
      end.uncounted = 1
    case .done(let value, let renditions):
      end.facts = try Catalog.json(value)
      try replaceRenditions(of: row, with: renditions, &rest)
    case .skipped(let sentence, let kind):
      (end.state, end.outcome, end.reason, end.failure) = (.skipped, .skipped, sentence, kind)
      try replaceRenditions(of: row, with: [], &rest)
    case .failed(let kind, let sentence, let retryAt):
      (end.state, end.outcome, end.reason, end.failure) = (.failed, .failed, sentence, kind)
      if let retryAt { (end.state, end.notBefore) = (.ready, retryAt.adding(seconds: lead)) }
      // The file is not to blame, and keeps its remaining attempts, which are counted when claimed, so that a
      // crash leaves a suspect.
      if kind == "environment" { end.uncounted = 1 }
    }
    return end
  }

  private func replaceRenditions(
    of row: RunningRow, with renditions: [NewRendition], _ rest: inout [SmallRendition]
  ) throws(CatalogError) {
    if row.hasRenditions {
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
      if let small = SmallRendition(rendition, of: row.id), self.renditions == nil {
        rest.append(small)
      } else {
        try insert(rendition, ledger: row.id, path: path)
      }
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

  /// The number and bytes of the renditions that go with the doomed rows.
  func doomedRenditions() throws(CatalogError) -> (count: Int, bytes: Int) {
    try spareDoomed(withRunning: false)
    return try connection.first(
      """
      SELECT count(*), coalesce(sum(rendition.bytes), 0)
      FROM temp.doomed CROSS JOIN rendition ON rendition.ledger = doomed.ledger
      """
    ) { ($0.int(0), $0.int(1)) } ?? (0, 0)
  }

  /// Takes the rows that a job refers to off the doomed ones.
  private func spareDoomed(withRunning: Bool) throws(CatalogError) {
    try connection.execute(
      """
      DELETE FROM temp.doomed WHERE
        \(Self.isThere("job WHERE job.ledger = doomed.ledger"))
        OR \(Self.isThere("job WHERE job.previous_ledger = doomed.ledger"))
        OR NOT ?1 AND \(Self.isThere("ledger WHERE id = doomed.ledger AND state = 'running'"))
      """, withRunning)
  }

  /// Deletes the doomed rows that no job refers to.
  ///
  /// - Parameter withRunning: whether to delete running rows, too.
  func discardDoomed(withRunning: Bool = false) throws(CatalogError) {
    try spareDoomed(withRunning: withRunning)
    // To ask a server takes longer than what follows.
    if connection.dialect == .sqlite, try !connection.hasRow("SELECT 1 FROM temp.doomed") { return }
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
