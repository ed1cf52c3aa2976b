import PipelineModel
import Records

/// Numbering the changes of assets, so that readers find those since a revision.
extension CatalogWriter {
  /// Mark assets that readers see otherwise than before. Temporary triggers, as for `picture`, so that no
  /// statement can forget it.
  ///
  /// A claim alone marks nothing: the end of the attempt does. Waiting and ready jobs look the same.
  /// None for a new asset, which `insert` marks.
  /// None for a new job, which would cost an import 12 µs: it belongs to a new asset or comes by
  /// `reviseAssets(without:after:through:)`.
  static let revisionTriggers = """
    CREATE TEMP TRIGGER revision_trash AFTER UPDATE OF trashed_at, supersedes ON main.asset
      WHEN OLD.trashed_at IS NOT NEW.trashed_at OR OLD.supersedes IS NOT NEW.supersedes BEGIN
        \(mark("NEW.id", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_deletion AFTER DELETE ON main.asset BEGIN
        \(mark("OLD.id", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_switch AFTER UPDATE OF ledger, previous_ledger ON main.job
      WHEN OLD.ledger <> NEW.ledger OR OLD.previous_ledger IS NOT NEW.previous_ledger BEGIN
        \(mark("NEW.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_state AFTER UPDATE OF state ON main.ledger
      WHEN OLD.state <> NEW.state AND NEW.state <> 'running'
        AND NOT (OLD.state IN ('waiting', 'ready') AND NEW.state IN ('waiting', 'ready')) BEGIN
        INSERT OR IGNORE INTO changed SELECT asset FROM job WHERE ledger = NEW.id;
      END;
    CREATE TEMP TRIGGER revision_said AFTER INSERT ON main.annotation BEGIN
        \(mark("NEW.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_resaid AFTER UPDATE OF applies ON main.annotation
      WHEN OLD.applies <> NEW.applies BEGIN
        \(mark("NEW.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_member AFTER INSERT ON main.member BEGIN
        \(mark("NEW.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_role AFTER UPDATE ON main.member BEGIN
        \(mark("NEW.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_leaver AFTER DELETE ON main.member BEGIN
        \(mark("OLD.asset", in: "changed"))
      END;
    CREATE TEMP TRIGGER revision_frame AFTER INSERT ON main.frame BEGIN
        \(mark("NEW.asset", in: "changed"))
        \(markMembers(of: "NEW.asset"))
      END;
    CREATE TEMP TRIGGER revision_frameless AFTER DELETE ON main.frame BEGIN
        \(mark("OLD.asset", in: "changed"))
        \(markMembers(of: "OLD.asset"))
      END;
    CREATE TEMP TRIGGER revision_storage AFTER UPDATE OF path ON main.rendition
      WHEN (OLD.path IS NULL) <> (NEW.path IS NULL) BEGIN
        INSERT OR IGNORE INTO changed SELECT asset FROM job WHERE ledger = NEW.ledger;
        INSERT OR IGNORE INTO changed SELECT asset FROM job WHERE previous_ledger = NEW.ledger;
      END;
    """

  /// SQL that marks the members of a shot's group.
  private static func markMembers(of leader: String) -> String {
    """
    INSERT INTO changed SELECT member.asset FROM member WHERE leader = \(leader)
      AND NOT EXISTS (SELECT 1 FROM changed WHERE changed.asset = member.asset);
    """
  }

  /// Marks a new asset.
  func revise(_ asset: AssetID) throws(CatalogError) {
    guard !isDraft else { return }
    try connection.execute(
      "INSERT INTO temp.changed (asset) VALUES (?) ON CONFLICT DO NOTHING", asset)
  }

  /// Marks the assets of a range that get their job of a stage now.
  func reviseAssets(
    without stage: Int64, after first: SQLValue, through last: SQLValue
  ) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.changed (asset) SELECT id FROM asset
      WHERE id > ?2 AND id <= ?3
        AND NOT EXISTS (SELECT 1 FROM job WHERE job.asset = asset.id AND job.stage = ?1)
      ON CONFLICT DO NOTHING
      """, stage, first, last)
  }

  /// Marks the assets with a ready job of a stage, which looks failed while the stage is held.
  func reviseAssets(waitingFor stage: String) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.changed (asset)
      SELECT job.asset FROM stage CROSS JOIN ledger INDEXED BY ledger_claim
          ON ledger.fingerprint = stage.fingerprint AND ledger.state = 'ready'
        CROSS JOIN job ON job.ledger = ledger.id AND job.stage = stage.id
      WHERE stage.name = ?
      ON CONFLICT DO NOTHING
      """, stage)
  }

  /// Marks the assets of a range of originals.
  func reviseAssets(withDigestsAfter first: SQLValue, through last: SQLValue) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.changed (asset) SELECT id FROM asset WHERE digest > ? AND digest <= ?
      ON CONFLICT DO NOTHING
      """, first, last)
  }

  /// Gives each marked asset a new number, and clears the marks.
  ///
  /// - Parameter isSure: whether there are marks.
  /// - Returns: when this process began an epoch now; `nil` if it had no need to.
  func recordRevisions(isSure: Bool) throws(CatalogError) -> Timestamp? {
    if !isSure, try !connection.hasRow("SELECT 1 FROM temp.changed") { return nil }
    let began = try beginEpochIfDue()
    let changed = """
      INTO revision (asset, removed)
      SELECT asset, NOT \(Self.isThere("asset WHERE asset.id = changed.asset"))
      FROM temp.changed ORDER BY asset
      """
    try connection.execute(
      connection.text(
        sqlite: "INSERT OR REPLACE \(changed)",
        postgreSQL: """
          INSERT \(changed)
          ON CONFLICT (asset) DO UPDATE SET number = excluded.number, removed = excluded.removed
          """))
    try connection.execute("DELETE FROM temp.changed")
    return began
  }

  /// Begins an epoch with the first change of a process, and then each day.
  private func beginEpochIfDue() throws(CatalogError) -> Timestamp? {
    let now = Timestamp.now
    if let epochStart, now < epochStart.adding(seconds: Self.epochLength) { return nil }
    // All processes forget what one does, so it is not this machine's clock that says what is old.
    let ledgerTime = try connection.ledgerTime()
    let last = connection.text(
      sqlite: RevisionNumber.lastInSQLite, postgreSQL: RevisionNumber.lastInPostgreSQL)
    let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
    let id = String(repeating: "0", count: 16 - digits.count) + digits
    try connection.execute(
      "INSERT INTO epoch (first, id, began_at) VALUES (ifnull((\(last)), 0) + 1, ?, ?)", id,
      ledgerTime)
    try forgetRevisions(before: ledgerTime.adding(seconds: -Self.retention))
    return now
  }

  /// Forgets epochs that ended before a time, and the keys of assets that were deleted in them.
  private func forgetRevisions(before time: Timestamp) throws(CatalogError) {
    let oldest =
      try connection.first("SELECT max(first) FROM epoch WHERE began_at < ?", time) {
        row in row.optional(0, row.int64)
      } ?? nil
    guard let oldest else { return }
    try connection.execute("DELETE FROM epoch WHERE first < ?", oldest)
    // Nobody asks for the others any more, so they may wait for the next epoch.
    try connection.execute(
      """
      DELETE FROM revision WHERE number IN (
        SELECT number FROM revision WHERE removed = 1 AND number < ? LIMIT 50000)
      """, oldest)
  }

  /// Seconds after which a process begins another epoch.
  private static let epochLength = 86_400.0
  /// Seconds for which revisions can be asked for, and keys of deleted assets are kept.
  private static let retention = 30 * 86_400.0
}
