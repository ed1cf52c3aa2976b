import Files
import Glibc
import PipelineModel
import PostgreSQL
import Records
import Synchronization

/// A connection to a catalog in PostgreSQL, made anew where it is lost.
///
/// The server ends the transaction of a connection that is lost. What became of one that was being
/// committed is unknown, so the last statement of each writes a random mark that tells.
final class PostgreSQLDriver: DatabaseDriver {
  enum Role {
    /// Changing the catalog with the library's lock, one process at a time.
    case writing
    /// Changing the ledger beside that process, any number of them.
    case working
    case reading
    /// Reading, in a process that can open no other connection, not even to end a statement.
    case confined

    var isWriter: Bool { self == .writing || self == .working }
  }

  let address: DatabaseLocation
  let role: Role
  private var connection: PostgreSQLConnection
  /// Counts the connections made, each with prepared statements and temporary tables of its own.
  private(set) var connectionNumber = 1
  private var statementCount = 0
  private(set) var changedRows = 0
  /// The connection on which a transaction was begun; `nil` if none is open.
  private var transactionConnection: Int?
  /// How to begin the transaction, which the server is told with the first statement; `nil` once it has answered that.
  private var beginning: String?
  /// Whether the transaction has changed something.
  private(set) var hasWritten = false
  var marks = CommitMarks()
  /// Names of statements that the server may forget.
  private var forgotten: [String] = []
  private var isInterrupted: (@Sendable () -> Bool)?
  /// Makes what belongs to a connection; for each new one.
  var session = ""
  /// The participant that this connection changes the catalog for.
  var participant: Int64? { didSet { if role == .working { marks.last = "" } } }
  /// What the last writing transaction found at its begin: the first value of `entrance`.
  private(set) var entry = ""
  /// Statements that are executed at the end of a transaction now and then.
  var upkeep: [String] = []
  private var rowsSinceUpkeep = 0
  /// Some dozen pages of each temporary table: to read past them costs less than to make them anew, and to plan
  /// all statements about them again.
  private static let rowsUntilUpkeep = 50_000

  let dialect = SQLDialect.postgreSQL

  /// How long to try to reach a server that was lost; who asks later than that waits for a few seconds only.
  private static let patience = Duration.seconds(60)
  private static let latePatience = Duration.seconds(3)
  /// How long whoever has the turn may send nothing in the midst of its statements, while others wait for it.
  var longestStall = Duration.seconds(180)
  /// How long to wait for each statement that undoes a transaction.
  private static let longestUndoing = Duration.seconds(5)

  init(_ address: DatabaseLocation, role: Role) throws(CatalogError) {
    self.address = address
    self.role = role
    connection = try Self.connect(address, role)
  }

  // MARK: Statements

  func prepare(_ sql: String) throws(CatalogError) -> any DatabaseStatement {
    try PostgreSQLStatement(sql, on: self)
  }

  /// Prepares a statement on the server; returns its name there.
  func prepare(
    _ translated: String, _ types: [UInt32], sql: String
  ) throws(CatalogError) -> String {
    statementCount += 1
    let name = "s\(statementCount)"
    try attempt(sql) { () throws(PostgreSQLError) in
      try connection.prepare(translated, as: name, types: types)
    }
    return name
  }

  func execute(
    _ name: String, _ parameters: PostgreSQLParameters, sql: String
  ) throws(CatalogError) -> PostgreSQLResult {
    try sendBeginning()
    // Also after an error: the transaction has begun, and failed.
    defer { if !isReconnecting, !connection.isLost { beginning = nil } }
    let result = try attempt(sql) { () throws(PostgreSQLError) in
      try connection.execute(prepared: name, parameters)
    }
    changedRows = result.changedRows
    if changedRows > 0 { hasWritten = true }
    rowsSinceUpkeep += changedRows
    return result
  }

  /// Sends a statement whose answer is read with that of the next one.
  ///
  /// - Returns: `false` if it has to be waited for, outside of a transaction that may write.
  func enqueue(
    _ name: String, _ parameters: PostgreSQLParameters, sql: String
  ) throws(CatalogError) -> Bool {
    guard transactionConnection == connectionNumber, role.isWriter else { return false }
    try sendBeginning()
    beginning = nil
    try attempt(sql) { () throws(PostgreSQLError) in
      try connection.enqueue(prepared: name, parameters, sql: sql)
    }
    hasWritten = true
    return true
  }

  /// Takes note that the statements of this transaction, though they might have, have changed nothing.
  func hasChangedNothing() { hasWritten = false }

  /// Queues the start of the transaction, unless the server has it.
  private func sendBeginning() throws(CatalogError) {
    guard let beginning, !isReconnecting else { return }
    try attempt(beginning) { () throws(PostgreSQLError) in try connection.enqueue(beginning) }
  }

  func forget(_ names: [String]) {
    forgotten += names
    guard !connection.isLost, transactionConnection == nil else { return }
    // One that stays takes some memory of the server until the connection ends.
    for name in forgotten { _ = try? connection.execute("DEALLOCATE \(name)") }
    forgotten = []
  }

  func executeScript(_ script: String) throws(CatalogError) {
    try sendBeginning()
    if !isReconnecting { beginning = nil }
    try attempt("a script") { () throws(PostgreSQLError) in try connection.execute(script) }
    // What belongs to a connection is no change of the catalog.
    if !isReconnecting { hasWritten = true }
  }

  @discardableResult
  private func attempt<Value>(
    _ sql: String, _ body: () throws(PostgreSQLError) -> Value
  ) throws(CatalogError) -> Value {
    do throws(PostgreSQLError) {
      return try body()
    } catch {
      throw failure(error, at: sql)
    }
  }

  /// The error of a statement, or of one that was sent before it; takes note of one that undoes the transaction for
  /// another one's sake.
  private func failure(_ error: PostgreSQLError, at sql: String) -> CatalogError {
    if error.state.map(Self.undoing.contains) == true { isUndone = true }
    return CatalogError(postgreSQL: error, address, sql: error.queuedStatement ?? sql)
  }

  // MARK: Transactions

  func begin(_ kind: TransactionKind) throws(CatalogError) {
    (hasLostTransaction, isUndone) = (false, false)
    // Nothing has begun, so a new connection is as good.
    if connection.isLost, canReconnect { try reconnect() }
    if role.isWriter, kind != .reading {
      try takeTurn(kind)
    } else {
      beginning = kind == .reading ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN"
    }
    hasWritten = false
    transactionConnection = connectionNumber
  }

  /// How often a transaction is begun on another connection.
  private static let mostLosses = 5
  /// The SQLSTATE `lock_not_available`.
  private static let lockTimeout = "55P03"
  /// The SQLSTATEs `serialization_failure` and `deadlock_detected`: the server has undone one transaction so that another
  /// can go on, and it may succeed when it is repeated.
  private static let undoing: Set = ["40001", "40P01"]
  /// Whether the server has undone the transaction for that reason.
  private var isUndone = false

  /// Begins a transaction, waits for its turn and reads `entry`, in one message, so that there is one answer to wait for.
  /// No other statement of the transaction is sent before.
  private func takeTurn(_ kind: TransactionKind) throws(CatalogError) {
    let sql = "BEGIN; \(turn(kind)); \(entrance)"
    var losses = 0
    while true {
      do throws(PostgreSQLError) {
        let result = try connection.execute(sql)
        entry = result.rowCount == 1 ? result.text(0, 0) : ""
        marks.found = result.rowCount == 1 && !result.isNull(0, 2) ? result.text(0, 2) : nil
        if result.rowCount == 1 { try connection.requireSameSession(result.integer(0, 1)) }
        return
      } catch {
        // Nothing has begun, so a new connection is as good.
        if connection.isLost, losses < Self.mostLosses {
          losses += 1
        } else {
          // The server may have begun it all the same.
          undoTransaction()
          // Whoever has the turn may go on for longer than other locks are waited for.
          let mayFollow = error.state.map { $0 == Self.lockTimeout || Self.undoing.contains($0) }
          let isWaiting =
            mayFollow == true && !CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
          guard isWaiting else { throw CatalogError(postgreSQL: error, address, sql: "BEGIN") }
          if error.state == Self.lockTimeout, !connection.isLost {
            // It may not be allowed to; then it waits on.
            _ = try? connection.execute(endingStalledTurns(after: longestStall))
          }
        }
      }
      if connection.isLost { try reconnect() }
    }
  }

  /// Whether the last transaction was undone through no fault of its own: its connection was lost, or the server let
  /// another one go on instead.
  private(set) var hasLostTransaction = false

  /// Whether a statement can be repeated on another connection: nothing before it in its transaction was answered.
  var isFirst: Bool {
    (transactionConnection == nil || beginning != nil) && !isReconnecting
  }

  /// Commits; finds out what became of a commit whose answer was lost.
  func commit() throws(CatalogError) {
    // Otherwise nothing was asked for.
    if beginning == nil { try commitChanges() }
    beginning = nil
    transactionConnection = nil
  }

  private func commitChanges() throws(CatalogError) {
    guard hasWritten, role.isWriter else {
      return try attempt("COMMIT") { () throws(PostgreSQLError) in
        _ = try connection.execute("COMMIT")
      }
    }
    let mark = CommitMarks.random()
    let (table, row) = markPlace
    let needsUpkeep =
      rowsSinceUpkeep + connection.queuedChanges > Self.rowsUntilUpkeep && !upkeep.isEmpty
    do throws(PostgreSQLError) {
      try connection.enqueue("UPDATE \(table) SET mark = '\(mark)' WHERE \(row)")
      if needsUpkeep { for statement in upkeep { try connection.enqueue(statement) } }
      try connection.enqueue("COMMIT")
      try connection.finishQueue()
    } catch {
      let failure = failure(error, at: "COMMIT")
      guard connection.isLost else { throw failure }
      marks.pending = mark
      // Until the server says what became of it, it must not be repeated.
      do throws(CatalogError) {
        try reconnect()
      } catch {
        var unknown = error
        unknown.message +=
          " Whether the last changes were recorded is unknown; the next run finds out."
        throw unknown
      }
      guard marks.last == mark else { throw failure }
    }
    marks.last = mark
    if needsUpkeep { (rowsSinceUpkeep, connection.queuedChanges) = (0, 0) }
  }

  var isInTransaction: Bool { transactionConnection != nil }

  func rollBack() {
    guard let begun = transactionConnection else { return }
    transactionConnection = nil
    beginning = nil
    let hadConnection = begun == connectionNumber && undoTransaction()
    hasLostTransaction = (!hadConnection || isUndone) && marks.pending == nil
  }

  /// Ends the transaction of the connection, also while what interrupted it still holds: the next one would be refused.
  ///
  /// - Returns: `false` if the connection was lost, and the transaction with it.
  @discardableResult
  private func undoTransaction() -> Bool {
    defer { connection.isInterrupted = isInterrupted }
    limitUndoing()
    connection.abandonQueue()
    guard !connection.isLost else { return false }
    limitUndoing()
    // Otherwise nobody knows what the connection is in.
    if (try? connection.execute("ROLLBACK")) == nil { connection.close() }
    return true
  }

  /// Lets the next statement take a while, whatever holds.
  private func limitUndoing() {
    let end = ContinuousClock.now + Self.longestUndoing
    connection.isInterrupted = { ContinuousClock.now > end }
  }

  // MARK: The connection

  /// Why the last try to connect again failed.
  private var lastFailure: CatalogError?

  /// Since when the server can't be reached; `nil` while it can.
  private var absence: (since: ContinuousClock.Instant, told: CatalogError?)?
  /// Called when the server has been away for some seconds, with the reason, again if it then refuses this process, once for
  /// each reason, and when it is back, with `nil`.
  var tellAbsence: (CatalogError?) -> Void = { _ in }
  /// A server that is restarted is back within that.
  private static let untoldAbsence = Duration.seconds(5)

  private func noteAbsence(_ error: CatalogError, since start: ContinuousClock.Instant) {
    guard ContinuousClock.now - start > Self.untoldAbsence else { return }
    if let told = absence?.told, !error.isRefusal || told.message == error.message { return }
    absence?.told = error
    tellAbsence(error)
  }

  private func noteReturn() {
    if absence?.told != nil { tellAbsence(nil) }
    absence = nil
  }

  /// Whether a new connection is being made, whose statements are not repeated one by one.
  private var isReconnecting = false

  /// Whether the server can't be reached any more.
  var isLost: Bool { connection.isLost }

  var canReconnect: Bool { role != .confined }

  /// Lets the server end statements that take longer.
  func limitStatements(to limit: Duration) throws(CatalogError) {
    let milliseconds = max(1, Int(limit / .milliseconds(1)))
    try attempt("a limit") { () throws(PostgreSQLError) in
      try connection.execute("SET statement_timeout = \(milliseconds)")
    }
  }

  /// Makes a new connection in the place of one that was lost, with all that belongs to it.
  ///
  /// - Throws: the last error, after a minute of tries, or after one if this process is asked to end. A server
  ///   that has been away for longer is tried for some seconds more each time.
  func reconnect() throws(CatalogError) {
    let isEnding = CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
    if isEnding, let lastFailure { throw lastFailure }
    isReconnecting = true
    defer { isReconnecting = false }
    connection.close()
    connectionNumber += 1
    if beginning != nil { transactionConnection = connectionNumber }
    forgotten = []
    let start = absence?.since ?? .now
    if absence == nil { absence = (start, nil) }
    let end = max(start + Self.patience, .now + Self.latePatience)
    var pause: UInt32 = 10_000
    while true {
      do throws(CatalogError) {
        connection = try Self.connect(address, role)
        connection.isInterrupted = isInterrupted
        if role == .writing { try lock(until: end) }
        if !session.isEmpty { try executeScript(session) }
        // One that had not begun makes its catalog, or looks at it, next.
        if participant != nil { try PostgreSQLSchema.requireWhole(self) }
        if role.isWriter { try noteLastMark() }
        lastFailure = nil
        noteReturn()
        return
      } catch {
        // Without the lock and all that belongs to a session, nothing may use it.
        connection.close()
        lastFailure = error
        let isOver =
          ContinuousClock().now > end || isInterrupted?() ?? false
          || CurrentProcess.isAskedToEnd.load(ordering: .relaxed)
        if isOver || error.code == .locked { throw error }
        noteAbsence(error, since: start)
      }
      usleep(pause)
      pause = min(pause * 2, 1_000_000)
    }
  }

  /// The server's process of the connection.
  var backend: Int32 { connection.backend }

  /// Takes the notifications that have come; returns the server's processes that they are of.
  func takeNotifications() -> [Int32] { connection.takeNotifications() }

  func interrupt(when isInterrupted: (@Sendable () -> Bool)?) {
    self.isInterrupted = isInterrupted
    connection.isInterrupted = isInterrupted
  }

  func close() { connection.close() }
}
