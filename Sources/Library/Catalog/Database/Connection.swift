import PipelineModel
import Records

/// One connection to a database with its prepared statements.
///
/// Not thread-safe: it belongs to a `SerialAccess`, or to a cursor.
final class Connection {
  enum Mode {
    case create, write, read
    /// Without locks and without the `-wal` file; only while nobody writes.
    case readImmutable
  }

  let place: CatalogPlace
  /// What messages call the database.
  let path: BytePath
  let file: DatabaseFile
  private let driver: any DatabaseDriver
  private var cache: [StatementText: [Statement]] = [:]
  /// Idle statements of questions, the one used last at the end.
  private var questions: [(sql: String, statement: Statement)] = []
  /// Users may ask anything, so only a few are kept.
  private static let mostQuestions = 16
  /// Texts that were read of the tables `term` and `source`.
  var sharedTexts = SharedTexts()
  private var isOpen = true
  /// What may end the statements that run now.
  private var isInterrupted: (@Sendable () -> Bool)?
  /// Whether the catalog was found without the bytes of renditions, which never come back to it.
  var isKnownWithoutBytes = false

  /// Opens an SQLite file.
  ///
  /// - Parameter model: a file whose owner and permissions a new file gets; by default the umask
  ///   decides.
  convenience init(
    _ path: BytePath, mode: Mode, of file: DatabaseFile = .catalog,
    permissionsOf model: BytePath? = nil
  ) throws(CatalogError) {
    let driver = try SQLiteDriver(path, mode: mode, of: file, permissionsOf: model)
    self.init(driver, .file(path), of: file)
  }

  init(_ driver: any DatabaseDriver, _ place: CatalogPlace, of file: DatabaseFile = .catalog) {
    self.driver = driver
    self.place = place
    path = place.name
    self.file = file
  }

  /// Opens a catalog for reading, with locks if it is a file.
  ///
  /// - Parameter isConfined: whether this process can't connect again.
  static func reading(
    _ place: CatalogPlace, isConfined: Bool = false
  ) throws(CatalogError) -> Connection {
    switch place {
    case .file(let path): try Connection(path, mode: .read)
    case .database(let address):
      Connection(try PostgreSQLDriver(address, role: isConfined ? .confined : .reading), place)
    }
  }

  deinit { close() }

  var dialect: SQLDialect { driver.dialect }

  /// The driver, if the database is an SQLite file.
  var sqlite: SQLiteDriver? { driver as? SQLiteDriver }

  /// The driver, if the database is one of PostgreSQL.
  var postgreSQL: PostgreSQLDriver? { driver as? PostgreSQLDriver }

  /// Chooses between two texts of a statement that the databases don't share.
  func text(sqlite: String, postgreSQL: String) -> String {
    switch dialect {
    case .sqlite: sqlite
    case .postgreSQL: postgreSQL
    }
  }

  /// Closes the database; no statement may be in use.
  func close() {
    guard isOpen else { return }
    isOpen = false
    for statement in cache.values.joined() {
      assert(!statement.isBusy, "A statement is in use while its connection is being closed.")
      statement.finalize()
    }
    cache = [:]
    for question in questions { question.statement.finalize() }
    questions = []
    driver.close()
  }

  /// Executes a statement.
  ///
  /// Within a transaction a server may execute it a little later, with the next statement that is waited for: that
  /// one, or the end of the transaction, then has its error.
  func execute(_ sql: String, _ values: any SQLBindable...) throws(CatalogError) {
    try execute(sql, values: values)
  }

  func execute(_ sql: String, values: [any SQLBindable]) throws(CatalogError) {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    try statement.perform()
  }

  /// Executes a statement for some rows, and again for others, each time for a power of two, so that there are few texts.
  ///
  /// - Parameter sql: makes the statement of a list of rows: `VALUES (?, …), …`.
  func executeForRows(
    _ rows: [[any SQLBindable]], _ sql: (String) -> String
  ) throws(CatalogError) {
    var rest = rows[...]
    while let columns = rest.first?.count {
      let count = min(1 << (Int.bitWidth - 1 - rest.count.leadingZeroBitCount), Self.mostRows)
      let row = "(\(Array(repeating: "?", count: columns).joined(separator: ", ")))"
      let list = Array(repeating: row, count: count).joined(separator: ", ")
      try execute(sql("VALUES \(list)"), values: Array(rest.prefix(count).joined()))
      rest = rest.dropFirst(count)
    }
  }

  /// The most rows of a statement: more would save little.
  private static let mostRows = 64

  /// Executes a statement and returns the number of changed rows.
  func changes(_ sql: String, _ values: any SQLBindable...) throws(CatalogError) -> Int {
    try changes(sql, values: values)
  }

  func changes(_ sql: String, values: [any SQLBindable]) throws(CatalogError) -> Int {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {}
    return driver.changedRows
  }

  /// Inserts a row into a table with the key `id`.
  ///
  /// - Returns: its key.
  func insert(_ sql: String, values: [any SQLBindable]) throws(CatalogError) -> Int64 {
    switch dialect {
    case .sqlite:
      // By `RETURNING`, SQLite 3.40 would read all rows that may refer to the new one.
      try execute(sql, values: values)
      return try first("SELECT last_insert_rowid()") { $0.int64(0) } ?? 0
    case .postgreSQL: return try first(sql + " RETURNING id", values: values) { $0.int64(0) } ?? 0
    }
  }

  func all<Value>(
    _ sql: String, _ values: any SQLBindable...,
    read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> [Value] {
    try all(sql, values: values, read: read)
  }

  func all<Value>(
    _ sql: String, values: [any SQLBindable], read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> [Value] {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    var rows: [Value] = []
    while try statement.step() { rows.append(try read(statement)) }
    return rows
  }

  func first<Value>(
    _ sql: String, _ values: any SQLBindable...,
    read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    try first(sql, values: values, read: read)
  }

  func first<Value>(
    _ sql: String, values: [any SQLBindable], read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    return try statement.step() ? try read(statement) : nil
  }

  func hasRow(_ sql: String, _ values: any SQLBindable...) throws(CatalogError) -> Bool {
    try hasRow(sql, values: values)
  }

  func hasRow(_ sql: String, values: [any SQLBindable]) throws(CatalogError) -> Bool {
    try first(sql, values: values) { _ in true } ?? false
  }

  /// Calls a body for each row; the body may run other statements.
  func each(
    _ sql: String, _ values: any SQLBindable...,
    body: (Statement) throws(CatalogError) -> Void
  ) throws(CatalogError) {
    try each(sql, values: values, body: body)
  }

  func each(
    _ sql: String, values: [any SQLBindable], body: (Statement) throws(CatalogError) -> Void
  ) throws(CatalogError) {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try body(statement) }
  }

  func executeScript(_ script: String) throws(CatalogError) {
    try requireOpen()
    try driver.executeScript(script)
  }

  /// An idle cached statement, or a new one.
  func preparedStatement(_ sql: String) throws(CatalogError) -> Statement {
    try requireOpen()
    // Ends work of many short statements, of which none takes long enough to be asked.
    if let isInterrupted, isInterrupted() { throw .interrupted(path) }
    let text = StatementText(sql: sql)
    if let statement = cache[text]?.first(where: { !$0.isBusy }) { return statement }
    let statement = Statement(try driver.prepare(sql), on: self)
    cache[text, default: []].append(statement)
    return statement
  }

  /// Runs a body with a statement that is kept for a while, but not for good.
  func withQuestion<Value>(
    _ sql: String, _ body: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try requireOpen()
    let place = questions.lastIndex { $0.sql == sql }
    let statement =
      if let place {
        questions.remove(at: place).statement
      } else {
        Statement(try driver.prepare(sql), on: self)
      }
    defer {
      statement.reset()
      questions.append((sql, statement))
      if questions.count > Self.mostQuestions { questions.removeFirst().statement.finalize() }
    }
    return try body(statement)
  }

  /// Runs a body in a transaction, rolled back if the body throws.
  func transaction<Value>(
    _ kind: TransactionKind = .writing, _ body: () throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try requireOpen()
    if let isInterrupted, isInterrupted() { throw .interrupted(path) }
    try driver.begin(kind)
    do {
      let value = try body()
      try driver.commit()
      return value
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a body whose statements end with an error of code `interrupted` once a condition holds.
  ///
  /// Statements after the body are not concerned.
  ///
  /// - Parameter isInterrupted: asked often; must not use the connection.
  func interruptible<Value>(
    when isInterrupted: @escaping @Sendable () -> Bool, _ body: () -> Value
  ) -> Value {
    let outer = self.isInterrupted
    set(isInterrupted)
    defer { set(outer) }
    return body()
  }

  private func set(_ isInterrupted: (@Sendable () -> Bool)?) {
    self.isInterrupted = isInterrupted
    if isOpen { driver.interrupt(when: isInterrupted) }
  }

  /// The SQL of all statements prepared so far.
  var statements: [String] { cache.keys.map(\.sql) }

  var isInTransaction: Bool { isOpen && driver.isInTransaction }

  private func requireOpen() throws(CatalogError) {
    guard isOpen else {
      throw CatalogError(.database, "\(file.name) “\(path)” is already closed.", path: path)
    }
  }

  /// Rolls back the open transaction, if there is one.
  func rollBack() { if isOpen { driver.rollBack() } }
}

/// The SQL of a cached statement. Its hash is that of its length and its end, because hashing hundreds of
/// bytes would take longer than some statements.
private struct StatementText: Hashable {
  var sql: String

  func hash(into hasher: inout Hasher) {
    let bytes = sql.utf8
    hasher.combine(bytes.count)
    hasher.combine(bytes.suffix(8).reduce(into: UInt64(0)) { $0 = $0 << 8 | UInt64($1) })
  }
}
