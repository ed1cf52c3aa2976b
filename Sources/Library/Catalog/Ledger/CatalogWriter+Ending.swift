import PipelineModel
import Records

/// What becomes of an attempt and its row.
struct AttemptEnd {
  var token: AttemptToken
  var row: RunningRow
  var state: LedgerState
  var outcome: AttemptRecord.Outcome
  var facts: String?
  var reason: String?
  var failure: String?
  var notBefore = Timestamp(microseconds: 0)
  /// How many attempts don't count after all.
  var uncounted = 0
  var seconds: Double
  var at: Timestamp
}

/// A rendition whose bytes are so few that many are sent at once to a catalog that has them itself.
struct SmallRendition {
  fileprivate let ledger: Int64
  fileprivate let record: NewRendition
  fileprivate let content: [UInt8]

  private static let most = 64 << 10

  /// - Returns: `nil` for others.
  init?(_ rendition: NewRendition, of ledger: Int64) {
    guard case .database(let bytes) = rendition.content, bytes.count <= Self.most else {
      return nil
    }
    (self.ledger, record, content) = (ledger, rendition, bytes)
  }
}

/// What a batch has still to write.
struct AttemptEnds {
  var attempts: [AttemptEnd] = []
  var renditions: [SmallRendition] = []
}

extension CatalogWriter {
  func write(_ ends: AttemptEnds) throws(CatalogError) {
    try insert(ends.renditions)
    try write(ends.attempts)
  }

  /// Inserts renditions with their bytes.
  private func insert(_ renditions: [SmallRendition]) throws(CatalogError) {
    let rows = renditions.map { rendition -> [any SQLBindable] in
      let record = rendition.record
      return [
        rendition.ledger, record.name, record.mediaType, record.width, record.height, record.bytes,
        record.digest, record.from, SQLValue.blob(rendition.content),
      ]
    }
    try connection.executeForRows(rows) { values in
      """
      WITH made (ledger, name, media_type, width, height, bytes, digest, made_from, content)
        AS (\(values)),
      inserted AS (
        INSERT INTO rendition (ledger, name, media_type, width, height, bytes, digest, made_from)
        SELECT ledger, name, media_type, width, height, bytes, digest, made_from FROM made
        RETURNING id, ledger, name)
      INSERT INTO rendition_bytes (rendition, content)
      SELECT inserted.id, made.content FROM inserted CROSS JOIN made
        ON made.ledger = inserted.ledger AND made.name = inserted.name
      """
    }
  }

  /// Ends attempts and writes what became of their rows; marks these for what follows.
  ///
  /// A server gets many of them with a few statements, of which each costs more than a row.
  private func write(_ ends: [AttemptEnd]) throws(CatalogError) {
    switch connection.dialect {
    case .sqlite: for end in ends { try write(end) }
    case .postgreSQL:
      try connection.executeForRows(ends.map(Self.values)) { values in
        """
        WITH ended (attempt, row, digest, state, outcome, facts, reason, class, not_before, uncounted, seconds, at)
          AS (\(values)),
        attempts AS (
          UPDATE attempt SET ended_at = ended.at, outcome = ended.outcome, class = ended.class,
            reason = ended.reason, seconds = ended.seconds
          FROM ended WHERE attempt.id = ended.attempt),
        rows AS (
          UPDATE ledger SET state = ended.state, facts = ended.facts, reason = ended.reason,
            class = ended.class, not_before = ended.not_before, seconds = ended.seconds,
            finished_at = ended.at, attempts = max(ledger.attempts - ended.uncounted, 0)
          FROM ended WHERE ledger.id = ended.row),
        finish AS (
          INSERT INTO temp.finished (ledger)
          SELECT row FROM ended WHERE state IN ('done', 'skipped') ON CONFLICT DO NOTHING),
        doom AS (
          INSERT INTO temp.doomed (ledger) SELECT row FROM ended ON CONFLICT DO NOTHING)
        INSERT INTO temp.touched (digest) SELECT digest FROM ended ON CONFLICT DO NOTHING
        """
      }
    }
  }

  private static func values(of end: AttemptEnd) -> [any SQLBindable] {
    [
      end.token.rawValue, end.row.id, end.row.digest, end.state.rawValue, end.outcome.rawValue,
      end.facts, end.reason, end.failure, end.notBefore, end.uncounted, end.seconds, end.at,
    ]
  }

  private func write(_ end: AttemptEnd) throws(CatalogError) {
    try connection.execute(
      """
      UPDATE attempt SET ended_at = ?, outcome = ?, class = ?, reason = ?, seconds = ?
      WHERE id = ?
      """, end.at, end.outcome.rawValue, end.failure, end.reason, end.seconds, end.token.rawValue)
    try connection.execute(
      """
      UPDATE ledger SET state = ?, facts = ?, reason = ?, class = ?, not_before = ?, seconds = ?,
        finished_at = ?, attempts = max(attempts - ?, 0) WHERE id = ?
      """, end.state.rawValue, end.facts, end.reason, end.failure, end.notBefore, end.seconds,
      end.at, end.uncounted, end.row.id)
    if end.state == .done || end.state == .skipped {
      try connection.execute(
        "INSERT INTO temp.finished (ledger) VALUES (?) ON CONFLICT DO NOTHING", end.row.id)
    }
    // Its jobs may have been assigned another row while it was running.
    try connection.execute(
      "INSERT INTO temp.doomed (ledger) VALUES (?) ON CONFLICT DO NOTHING", end.row.id)
    try touch(end.row.digest)
  }
}
