import PipelineModel

/// What the catalog's queue owns: the connection and what is remembered of its rows.
final class CatalogWriter {
  let connection: Connection
  /// The configured stages in topological order, as they are recorded.
  var stages: [ConfiguredStage]
  /// Attempts of this process whose rows went with their asset.
  var withdrawn: [AttemptToken: WithdrawnRow] = [:]
  /// The source that was asked for last in this transaction, as all changes of a group have one.
  var lastSource: (path: BytePath, id: Int64)?
  /// The first attempt of this process: an older open one was interrupted.
  let firstAttempt: Int64

  /// Tables of this connection alone, in memory, empty between transactions.
  private static let temporaryTables = """
    CREATE TEMP TABLE touched (digest BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TEMP TABLE claimed (position INTEGER PRIMARY KEY, ledger INTEGER NOT NULL UNIQUE);
    CREATE TEMP TABLE finished (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE doomed (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE page (ledger INTEGER PRIMARY KEY);
    CREATE TEMP TABLE retried (ledger INTEGER PRIMARY KEY);
    """

  init(_ connection: Connection) throws(CatalogError) {
    self.connection = connection
    try connection.executeScript(Self.temporaryTables)
    stages = try ConfiguredStage.all(connection)
    firstAttempt =
      try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'attempt'") {
        $0.int64(0) + 1
      } ?? 1
  }
}
