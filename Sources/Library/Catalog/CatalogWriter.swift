import PipelineModel
import Records

/// What one thread at a time uses of a catalog: the connection, and data cached from its rows.
final class CatalogWriter {
  let connection: Connection
  /// Whether nobody can have read the catalog, so that its changes need no revisions, and rows are
  /// counted at the end.
  let isDraft: Bool
  /// The database that has the bytes of renditions; `nil` if the catalog itself has them.
  let renditions: RenditionDatabase?
  /// Whether this transaction has listed keys in `temp.discarded_bytes`.
  var hasDiscardedBytes = false
  var stages: [ConfiguredStage]
  var parts: RenditionParts
  /// Attempts of this process whose rows were deleted with their asset.
  var withdrawn: [AttemptToken: WithdrawnRow] = [:]
  /// The last source used in this transaction; all changes of a group share one.
  var lastSource: (path: BytePath, id: Int64)?
  /// Rows of `term` that this transaction has used.
  var terms: [String: Int64] = [:]
  /// What this transaction changes of the counters.
  let counterChanges = CounterChanges()
  /// Which assets belong together.
  var groupPolicy: GroupPolicy
  /// This process among others; `nil` for a file, and a draft.
  let participation: Participation?
  /// Which change of `stages`, `parts` and `groupPolicy` they are of.
  var generation = ""
  /// Whether the last transaction was given up because others took this process for gone.
  var isExpired = false
  /// Attempts that this process has claimed, and not ended itself; only where others may end them.
  var claimed: Set<AttemptToken> = []
  /// Those of them that this transaction has ended.
  var endedNow: Set<AttemptToken> = []
  /// Those of them that this transaction found ended by others, and all those not yet asked for.
  var overtakenNow: Set<AttemptToken> = []
  var overtaken: Set<AttemptToken> = []
  /// How many results of this transaction count for nothing, because others do their jobs.
  var droppedNow = 0
  /// The stages that this process may work on; `nil` for all.
  var ownStages: [String: OwnStage]?
  /// They, as it is configured with them, and the names of those that it must leave to others.
  var ownDefinitions: [StageDefinition] = []
  var refusedStages: Set<String> = []
  /// Rows whose jobs are too much for this process.
  var declined: Set<Int64> = []
  /// The generation of the library's stages when they were compared last.
  var comparedGeneration = ""
  /// Whether this process can remove the library's files.
  var removesFiles = true
  /// The manifest whose end is kept; `nil` if it has no copies.
  var manifestTail: ManifestTail?
  /// When this process began its last epoch of revisions.
  private(set) var epochStart: Timestamp?
  /// The first attempt of this process; older open ones were interrupted. In a file only.
  let firstAttempt: Int64

  /// In-memory tables of this connection, empty between transactions.
  private static let temporaryTables = """
    CREATE TEMP TABLE touched (digest BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE claimed (position INTEGER PRIMARY KEY, ledger INTEGER NOT NULL UNIQUE);
    CREATE TEMP TABLE finished (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE doomed (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE page (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE retried (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE outdated (asset BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE regrouped (asset BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE signed (kind TEXT, value BLOB, PRIMARY KEY (kind, value)) WITHOUT ROWID;
    CREATE TEMP TABLE changed (asset BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE discarded_bytes (owner BLOB, fingerprint BLOB, name TEXT);
    """

  /// SQL of a trigger that adds an asset to a temporary table, unless it is there.
  ///
  /// Not by `OR IGNORE`, which foreign keys and upserts override in the triggers that they fire.
  /// Source: SQLite, `fkActionTrigger` and `sqlite3UpsertDoUpdate`.
  static func mark(_ asset: String, in table: String) -> String {
    "INSERT INTO \(table) VALUES (\(asset)) ON CONFLICT DO NOTHING;"
  }

  init(
    _ connection: Connection, isDraft: Bool, participation: Participation? = nil
  ) throws(CatalogError) {
    self.connection = connection
    self.isDraft = isDraft
    self.participation = participation
    renditions =
      if case .file(let file) = connection.place {
        RenditionDatabase(beside: file) { () throws(CatalogError) in
          try LostRenditions.note(in: connection)
        }
      } else {
        nil
      }
    groupPolicy = try GroupPolicy.read(connection)
    // PostgreSQL's schema has its triggers, and its driver makes the tables.
    if let driver = connection.sqlite {
      try connection.executeScript(
        Self.temporaryTables + Self.pictureTriggers + Self.groupTriggers)
      if !isDraft {
        try counterChanges.register(on: driver)
        try connection.executeScript(Self.revisionTriggers + CounterChanges.triggers)
      }
    } else if !isDraft {
      counterChanges.begin()
    }
    stages = try ConfiguredStage.all(connection)
    parts = try RenditionParts.read(connection)
    firstAttempt =
      try connection.dialect == .sqlite
      ? connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'attempt'") {
        $0.int64(0) + 1
      } ?? 1 : 0
  }

  /// Runs a body as one transaction, which also writes the rows for searches and the groups anew that it
  /// outdates, counts rows that come and go, and numbers the assets that it changes; then removes the bytes
  /// that it discarded from the database of renditions.
  ///
  /// - Parameter body: called again if the connection to a server was lost, or a server undid the transaction so that another
  ///   one could go on.
  func transaction<Value>(
    _ kind: TransactionKind = .writing, _ body: () throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    var repetitions = 0
    while true {
      do throws(CatalogError) {
        return try runTransaction(kind, body)
      } catch {
        guard let driver = connection.postgreSQL else { throw error }
        if try joinAnew() { continue }
        guard driver.hasLostTransaction, repetitions < Self.mostRepetitions else { throw error }
        repetitions += 1
      }
    }
  }

  /// How often a transaction is repeated that was undone through no fault of its own.
  private static let mostRepetitions = 5

  private func runTransaction<Value>(
    _ kind: TransactionKind, _ body: () throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    // An earlier transaction that inserted these rows may have been rolled back.
    lastSource = nil
    terms = [:]
    hasDiscardedBytes = false
    counterChanges.removeAll()
    let (value, epoch) = try connection.transaction(kind) {
      () throws(CatalogError) -> (Value, Timestamp?) in
      try enter()
      let value = try body()
      let marks = try marks()
      if marks.outdated {
        try updateOutdatedPictures()
        // Another sidecar changes what is known of its picture, but no group.
        if try updateMarkedGroups() { try updateOutdatedPictures() }
      }
      if marks.counted { try updateCounters() }
      return (value, marks.changed ? try recordRevisions(isSure: !marks.outdated) : nil)
    }
    // Only after the commit, which may fail.
    if let epoch { epochStart = epoch }
    if hasDiscardedBytes { removeDiscardedBytes() }
    return value
  }

  /// What may be to do at the end of a transaction: with rows for searches and groups, which also count and change
  /// something, with counters, and with revisions.
  private func marks() throws(CatalogError) -> (outdated: Bool, counted: Bool, changed: Bool) {
    guard let driver = connection.postgreSQL, counterChanges.changes.isEmpty else {
      return (true, true, true)
    }
    // So a claim asks the server at most once, and not for each table.
    guard driver.hasWritten else { return (false, false, false) }
    let marks = try connection.first(
      """
      SELECT EXISTS (SELECT 1 FROM temp.outdated) OR EXISTS (SELECT 1 FROM temp.regrouped)
        OR EXISTS (SELECT 1 FROM temp.signed),
        EXISTS (SELECT 1 FROM temp.counted), EXISTS (SELECT 1 FROM temp.changed)
      """
    ) { ($0.bool(0), $0.bool(1), $0.bool(2)) }
    guard let marks, !marks.0 else { return (true, true, true) }
    return (false, marks.1, marks.2)
  }

  // A catalog that could be opened, but not used, is given up without being closed.
  deinit { participation?.leave() }

  func close() {
    participation?.leave()
    renditions?.close()
    connection.close()
  }

  /// SQL for whether there is a row, looked for once for each row of the outer statement.
  ///
  /// Where `EXISTS` is only a part of a condition or a value, PostgreSQL may read the whole table first and keep it in
  /// memory, because it does not know how few rows a temporary table has.
  static func isThere(_ rows: String) -> String { "(SELECT 1 FROM \(rows) LIMIT 1) IS NOT NULL" }

  /// Marks the rows of an original to be settled.
  func touch(_ digest: Digest) throws(CatalogError) {
    try connection.execute(
      "INSERT INTO temp.touched (digest) VALUES (?) ON CONFLICT DO NOTHING", digest)
  }

  /// Settles the rows of all touched originals and clears the marks.
  ///
  /// - Parameter stages: the stages concerned, in topological order.
  func updateTouchedRows(_ stages: [ConfiguredStage]) throws(CatalogError) {
    for stage in stages {
      try updateStates(
        stage,
        rows: """
          temp.touched CROSS JOIN ledger AS row INDEXED BY ledger_key
          ON row.digest = touched.digest AND row.fingerprint = ?1
          """)
    }
    try connection.execute("DELETE FROM temp.touched")
  }

  /// Makes rows waiting, ready or skipped, depending on the rows that they need.
  ///
  /// Rows that are running, done, failed or were skipped by their own plugin stay
  /// unchanged. There are no edges between rows: a needed row is found by the
  /// digest or asset of the row and the fingerprint of the needed stage.
  private func updateStates(_ stage: ConfiguredStage, rows: String) throws(CatalogError) {
    // An alternative that failed counts only if no other is done.
    let alternatives = stage.alternatives.sorted().map(String.init).joined(separator: ",")
    let isAlternative =
      alternatives.isEmpty ? "FALSE" : "ifnull(need.id IN (\(alternatives)), FALSE)"
    let columns = """
      row.id AS id, need.name AS name, needed.state AS cause, needed.reason AS reason
      """
    let grade = """
      CASE WHEN need.id IS NULL OR needed.state = 'done' THEN 0
        WHEN needed.state IN ('failed', 'skipped') THEN iif(\(isAlternative), 1, 3) ELSE 2 END
      """
    let needed = """
      FROM \(rows)
        LEFT JOIN stage_need ON stage_need.stage = ?2
        LEFT JOIN stage AS need ON need.id = stage_need.needs
        LEFT JOIN ledger AS needed INDEXED BY ledger_key
          ON needed.digest = row.digest AND needed.fingerprint = need.fingerprint
          AND ifnull(needed.asset, x'') = iif(need.asset_scoped, row.asset, x'')
      WHERE row.fingerprint = ?1 AND (row.state IN ('waiting', 'ready') OR row.blocked = 1)
      """
    let judged = connection.text(
      // `max` takes the other columns from the row that has the maximum:
      // sqlite.org/lang_select.html#bareagg.
      sqlite: """
        SELECT \(columns), max(\(grade)) AS worst,
          total(\(isAlternative) AND needed.state = 'done') > 0 AS chosen
        \(needed) GROUP BY row.id
        """,
      postgreSQL: """
        SELECT DISTINCT ON (id) id, name, cause, reason, worst,
          bool_or(is_chosen) OVER (PARTITION BY id) AS chosen
        FROM (SELECT \(columns), need.id AS need, \(grade) AS worst,
          \(isAlternative) AND needed.state = 'done' AS is_chosen \(needed)) AS judged
        ORDER BY id, worst DESC, need
        """)
    // The state is asked of the row once more, because others may claim it meanwhile.
    try connection.execute(
      """
      UPDATE ledger SET
        state = settled.state,
        blocked = settled.state = 'skipped',
        reason = CASE WHEN settled.state = 'skipped' THEN settled.reason
          WHEN ledger.blocked THEN NULL ELSE ledger.reason END,
        class = CASE WHEN settled.state = 'skipped' OR ledger.blocked THEN NULL
          ELSE ledger.class END,
        finished_at = CASE WHEN settled.state = 'skipped' THEN ?3
          WHEN ledger.blocked THEN NULL ELSE ledger.finished_at END
      FROM (
        SELECT id,
          CASE WHEN worst = 3 OR worst = 1 AND NOT chosen THEN 'skipped' WHEN worst = 2 THEN 'waiting'
            ELSE 'ready' END AS state,
          'The stage “' || name || '”, which this one needs, '
            || CASE cause WHEN 'failed' THEN 'failed: ' ELSE 'was skipped: ' END
            || reason AS reason
        FROM (\(judged))
      ) AS settled
      WHERE ledger.id = settled.id
        AND (ledger.state IN ('waiting', 'ready') OR ledger.blocked = 1)
        AND (ledger.state <> settled.state
          OR settled.state = 'skipped' AND ledger.reason IS NOT settled.reason)
      """, stage.fingerprint, stage.id, Timestamp.now)
  }
}
