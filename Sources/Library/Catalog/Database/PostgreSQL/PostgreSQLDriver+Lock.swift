import Files
import Glibc
import PostgreSQL
import Records
import Synchronization

/// Who may change a catalog.
extension PostgreSQLDriver {
  /// The first part of the keys of advisory locks. The second is 1 for the process that imports and maintains, which has
  /// the lock until it ends; until their transactions end, 2 for whoever changes something, and 3 for whoever ends jobs; and
  /// 4 for whoever keeps the turn beyond a transaction.
  private static let key = Schema.applicationID

  /// SQL by which writing transactions take turns, so that statements written for one writer suit several.
  ///
  /// Claims need no turn among themselves, because they skip rows that others have locked, and change only rows of their
  /// own. Completions take turns with each other by a second lock, which is always taken after the first.
  func turn(_ kind: TransactionKind = .writing) -> String {
    let shared = "SELECT pg_advisory_xact_lock_shared(\(Self.key), 2)"
    return switch kind {
    case .claiming: shared
    case .completing: "\(shared); SELECT pg_advisory_xact_lock(\(Self.key), 3)"
    case .writing, .reading: "SELECT pg_advisory_xact_lock(\(Self.key), 2)"
    }
  }

  /// Waits until a session of this process that was lost has no turn any more, so that its last commit was made, or never
  /// will be.
  func awaitFormerTurn() throws(CatalogError) { try executeScript(turn()) }

  /// SQL that ends sessions with a turn that stopped in the midst of what they send, as those of a process that was
  /// suspended: the server limits how long a transaction is idle, but not how long it waits for the rest of a queue, or of a
  /// value, which it has as an idle transaction if nothing was executed since the last answer.
  ///
  /// - Parameter time: for how long the server must have got nothing; a single value may take long to be sent.
  func endingStalledTurns(after time: Duration) -> String {
    """
    SELECT pg_terminate_backend(stalled.pid) FROM pg_stat_activity AS stalled
    WHERE stalled.datname = current_database() AND stalled.usename = current_user
      AND stalled.state IN ('active', 'idle in transaction') AND stalled.wait_event = 'ClientRead'
      AND stalled.state_change <= clock_timestamp() - make_interval(secs => \(time.components.seconds))
      AND EXISTS (SELECT 1 FROM pg_locks AS turn
        WHERE turn.pid = stalled.pid AND turn.granted AND turn.locktype = 'advisory'
          AND turn.classid = \(Self.key) AND turn.objid IN (2, 3) AND turn.objsubid = 2
          AND turn.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND NOT EXISTS (SELECT 1 FROM pg_locks AS kept
        WHERE kept.pid = stalled.pid AND kept.granted AND kept.locktype = 'advisory'
          AND kept.classid = \(Self.key) AND kept.objid = 4 AND kept.objsubid = 2
          AND kept.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    """
  }

  /// Takes the turn until the connection ends, so that nobody else changes anything.
  func keepTurn() throws(CatalogError) {
    try executeScript("SELECT pg_advisory_lock(\(Self.key), 4), pg_advisory_lock(\(Self.key), 2)")
  }

  /// SQL for what a participant has to know at the start of a transaction, as one text: the version of the schema, the
  /// generation of the stages, and its own state; the server's process, which tells whether the session is its own; and the
  /// mark of the last commit, which tells whether the catalog is as this process left it.
  var entrance: String {
    let process = PostgreSQLConnection.processSQL
    guard let participant else { return "SELECT '', \(process), NULL" }
    let (table, row) = markPlace
    return """
      SELECT concat_ws(' ', coalesce((SELECT CAST(version AS text) FROM schema_version), '-'),
        coalesce((SELECT value FROM setting WHERE key = '\(Setting.generation)'), '-'),
        coalesce((SELECT state FROM participant WHERE id = \(participant)), '-')), \(process),
        (SELECT mark FROM \(table) WHERE \(row))
      """
  }

  /// Locks the catalog for this connection, until it ends.
  ///
  /// After a loss, the server may take a while to notice that the former connection has ended. A process that is
  /// asked to end waits for a second at most: so long a server needs to end a statement that was given up.
  ///
  /// - Throws: `.locked` if another connection has the lock all the time.
  func lock(
    until end: ContinuousClock.Instant = .now + .seconds(1)
  ) throws(CatalogError) {
    let soon = ContinuousClock.now + .seconds(1)
    while try first("SELECT pg_try_advisory_lock(\(Self.key), 1)", read: { $0.int64(0) }) != 1 {
      let isEnding = CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
      guard ContinuousClock.now < (isEnding ? min(soon, end) : end) else { throw try locked() }
      usleep(20_000)
    }
  }

  private func locked() throws(CatalogError) -> CatalogError {
    let holder = try first(
      """
      SELECT activity.application_name, host(activity.client_addr), activity.pid
      FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
      WHERE held.locktype = 'advisory' AND held.classid = \(Self.key) AND held.objid = 1
        AND held.objsubid = 2 AND held.granted
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """
    ) { row in
      let name = row.isNull(0) || row.text(0).isEmpty ? "a program without a name" : row.text(0)
      let place = row.isNull(1) ? "" : " at \(row.text(1))"
      return "“\(name)”\(place) (process \(row.int64(2)) of the server)"
    }
    return CatalogError(
      .locked,
      "The catalog “\(address)” is in use by \(holder ?? "another program"). Only one process at a time "
        + "imports into a library and maintains it; any number may `work`.")
  }

  /// Reads the first row of a statement without parameters that runs rarely.
  func first<Value>(
    _ sql: String, read: (any DatabaseStatement) -> Value
  ) throws(CatalogError) -> Value? {
    let statement = try prepare(sql)
    defer { statement.finalize() }
    try statement.bind([])
    return try statement.step() ? read(statement) : nil
  }
}
