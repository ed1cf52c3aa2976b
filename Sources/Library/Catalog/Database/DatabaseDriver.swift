import Records

/// What a `Connection` executes statements with.
///
/// Not thread-safe: it belongs to its connection.
protocol DatabaseDriver: AnyObject {
  /// How the database writes what the two write differently.
  var dialect: SQLDialect { get }

  /// Prepares a statement, which belongs to the caller until it is finalized.
  func prepare(_ sql: String) throws(CatalogError) -> any DatabaseStatement

  /// Executes statements without parameters, separated by semicolons.
  func executeScript(_ script: String) throws(CatalogError)

  /// The number of rows that the last statement inserted, changed or deleted.
  var changedRows: Int { get }

  func begin(_ kind: TransactionKind) throws(CatalogError)
  func commit() throws(CatalogError)

  /// Ends the transaction without an effect; does nothing if there is none.
  func rollBack()

  var isInTransaction: Bool { get }

  /// Ends statements with an error of code `interrupted` once a condition holds; `nil` ends none.
  func interrupt(when isInterrupted: (@Sendable () -> Bool)?)

  /// Ends the connection; all statements are finalized.
  func close()
}

/// A prepared statement of a driver, at a row of its results or at none.
protocol DatabaseStatement: AnyObject {
  /// Sets the parameters, in order.
  func bind(_ values: [any SQLBindable]) throws(CatalogError)

  /// Executes the statement, whose rows and number of changes nobody asks for: perhaps later, but before all that
  /// follows. Its error may be that of the next statement.
  func perform() throws(CatalogError)

  /// Advances to the next row; returns `false` at the end.
  func step() throws(CatalogError) -> Bool

  /// Forgets parameters and results.
  func reset()

  func finalize()

  func isNull(_ column: Int) -> Bool
  /// Also of a Boolean, which is 0 or 1.
  func int64(_ column: Int) -> Int64
  func double(_ column: Int) -> Double
  func text(_ column: Int) -> String
  func blob(_ column: Int) -> [UInt8]
}

/// What a transaction is for.
enum TransactionKind {
  case writing
  /// Claims jobs. On a server, others claim and complete jobs at the same time, so it may lock and change no rows of
  /// `ledger` but ready ones that nobody else has locked.
  case claiming
  /// Records what became of jobs. On a server, others claim jobs at the same time, but only one process completes some. So
  /// it may not rely on a ready row staying ready, and must change rows by conditions on what they are then.
  case completing
  /// All reads see one snapshot.
  case reading
}

/// The SQL that a database understands.
enum SQLDialect {
  case sqlite, postgreSQL
}
