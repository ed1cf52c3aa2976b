import PipelineModel

/// The state owned by the catalog's queue: the connection, and data cached from its rows.
final class CatalogWriter {
  let connection: Connection
  /// The recorded stages, in topological order.
  var stages: [ConfiguredStage]
  /// Attempts of this process whose rows were deleted with their asset.
  var withdrawn: [AttemptToken: WithdrawnRow] = [:]
  /// The last source used in this transaction; all changes of a group share one.
  var lastSource: (path: BytePath, id: Int64)?
  /// The first attempt of this process; older open ones were interrupted.
  let firstAttempt: Int64

  /// In-memory tables of this connection, empty between transactions.
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
