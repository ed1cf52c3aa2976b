import CSQLite
import PipelineModel
import Records

/// One connection to the database with its prepared statements.
///
/// Not thread-safe: it belongs to a `SerialAccess`, or to a cursor.
final class Connection {
  enum Mode {
    case create, write, read
    /// Without locks and without the `-wal` file; only while nobody writes.
    case readImmutable
  }

  let path: BytePath
  let file: DatabaseFile
  let handle: OpaquePointer
  private var cache: [StatementText: [Statement]] = [:]
  /// Idle statements of questions, the one used last at the end.
  private var questions: [(sql: String, statement: Statement)] = []
  /// Users may ask anything, so only a few are kept.
  private static let mostQuestions = 16
  /// Texts that were read of the tables `term` and `source`.
  var sharedTexts = SharedTexts()
  private var isOpen = true
  /// What may end the statements that run now.
  private var interruption: Interruption?
  /// When the current wait for another connection's lock began.
  private var waitStart: ContinuousClock.Instant?
  /// Whether the catalog was found without the bytes of renditions, which never come back to it.
  var isKnownWithoutBytes = false

  /// Turns off SQLite's memory statistics, which take a mutex for each allocation.
  ///
  /// Has no effect if other code in the process has initialized SQLite before.
  private static let withoutStatistics: Void = { _ = pipeline_sqlite_keep_no_statistics() }()

  /// - Parameter model: a file whose owner and permissions a new file gets; by default the umask
  ///   decides.
  init(
    _ path: BytePath, mode: Mode, of file: DatabaseFile = .catalog,
    permissionsOf model: BytePath? = nil
  ) throws(CatalogError) {
    Self.withoutStatistics
    let flags =
      switch mode {
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .write: SQLITE_OPEN_READWRITE
      case .read, .readImmutable: SQLITE_OPEN_READONLY
      }
    var handle: OpaquePointer?
    // NOMUTEX, because one thread at a time uses it.
    let code = sqlite3_open_v2(
      Self.uri(path, immutable: mode == .readImmutable, permissionsOf: model), &handle,
      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let handle else {
      let error = CatalogError(
        sqlite: code, systemError: sqlite3_system_errno(handle),
        detail: String(cString: sqlite3_errstr(code)), path: path, of: file, sql: nil)
      sqlite3_close(handle)
      throw error
    }
    self.path = path
    self.file = file
    self.handle = handle
    do {
      try prepare(mode)
    } catch {
      close()
      throw error
    }
  }

  private func prepare(_ mode: Mode) throws(CatalogError) {
    // The file may be untrusted: its schema must not run harmful functions.
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
    ] as [(Int32, Int32)] {
      pipeline_sqlite_configure(handle, option, value)
    }
    waitForLocks()
    // No mmap: an I/O error would raise a signal, and SQLite 3.40 has a bug with mmap and WAL.
    try execute("PRAGMA mmap_size = 0")
    try execute("PRAGMA cell_size_check = ON")
    try execute("PRAGMA temp_store = MEMORY")
    switch mode {
    case .create, .write:
      guard sqlite3_db_readonly(handle, "main") == 0 else {
        throw CatalogError(
          sqlite: SQLITE_READONLY, systemError: 0, detail: "opened for reading only", path: path,
          of: file, sql: nil)
      }
      try execute("PRAGMA foreign_keys = ON")
    case .read, .readImmutable:
      try execute("PRAGMA query_only = ON")
    }
  }

  deinit { close() }

  /// Installs a busy handler. Source: sqlite3_busy_handler.
  private func waitForLocks() {
    // Unretained because the handle is closed before this object is freed.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_busy_handler(
      handle,
      { context, tries in
        guard let context else { return 0 }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        return connection.isWorthAnotherTry(after: tries) ? 1 : 0
      }, context)
  }

  private func isWorthAnotherTry(after tries: Int32) -> Bool {
    let now = ContinuousClock().now
    if tries == 0 { waitStart = now }
    guard CatalogLocks.busyHandler.shouldRetry(waitingFor: path, since: now - (waitStart ?? now))
    else {
      return false
    }
    // Most locks are held only briefly.
    sqlite3_sleep(tries < 7 ? 1 << tries : 100)
    return true
  }

  /// The page cache of the writing connection between transactions, in KiB.
  static let cacheKibibytes = 2048

  /// Configures this as the writing connection, with durable commits to a write-ahead log.
  func prepareWriting() throws(CatalogError) {
    try useLog()
    // `watch` runs for months, so its cache should be small and fill early; the kernel caches the
    // rest. A transaction may use up to 8192 pages (32 MiB), because a page spilled before the
    // commit is written to the log twice.
    try execute("PRAGMA cache_size = -\(Self.cacheKibibytes)")
    try execute("PRAGMA cache_spill = 8192")
    // A long log, because digests touch pages all over the file: a page changed by several commits
    // is written back once.
    try execute("PRAGMA wal_autocheckpoint = 8192")
    try execute("PRAGMA journal_size_limit = 67108864")
  }

  /// Configures this as the writing connection to the database of renditions, with durable commits.
  func prepareWritingRenditions() throws(CatalogError) {
    try useLog()
    // Bytes are written once and not read again, so a cache would only take memory. Pages that spill
    // before the commit are in the log once, too: nothing changes them any more.
    try execute("PRAGMA cache_size = -1024")
    // Only the index has pages that several commits change.
    try execute("PRAGMA wal_autocheckpoint = 4096")
    try execute("PRAGMA journal_size_limit = 33554432")
  }

  private func useLog() throws(CatalogError) {
    let mode = try first("PRAGMA journal_mode = WAL") { $0.text(0) }
    guard mode == "wal" else {
      throw CatalogError(
        .database,
        "\(file.name) “\(path)” can't use a write-ahead log here. Use a local file system.",
        path: path)
    }
    // FULL flushes the log at each commit, so a completed commit survives a power failure. NORMAL
    // would keep the file consistent but lose the latest commits, and with them the knowledge that
    // files may be removed.
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA secure_delete = OFF")
  }

  /// Configures this as the only connection to a file that is discarded unless finished.
  ///
  /// Each page is written once, in place, without waiting for a flush.
  func prepareDraft() throws(CatalogError) {
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
    // Digests touch pages all over the file; cached pages are written less often.
    try execute("PRAGMA cache_size = -32768")
  }

  /// Closes the file; no statement may be in use.
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
    let code = sqlite3_close(handle)
    assert(code == SQLITE_OK, "A statement was not finalized before its connection was closed.")
  }

  func error(_ code: Int32, during sql: String) -> CatalogError {
    CatalogError(
      sqlite: code, systemError: sqlite3_system_errno(handle),
      detail: String(cString: sqlite3_errmsg(handle)), path: path, of: file, sql: sql)
  }

  /// The file as a URI, which allows any byte in its name.
  ///
  /// Source: sqlite.org/uri.html; `modeof` copies permissions.
  private static func uri(
    _ path: BytePath, immutable: Bool, permissionsOf model: BytePath?
  ) -> String {
    let options =
      (immutable ? ["immutable=1"] : []) + (model.map { ["modeof=" + escaped($0)] } ?? [])
    return "file:" + escaped(path) + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }

  private static func escaped(_ path: BytePath) -> String {
    let plain = Set("/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    return path.bytes.map { byte in
      plain.contains(byte)
        ? String(UnicodeScalar(byte)) : "%" + Hexadecimal.encode([byte])
    }.joined()
  }

  /// Executes a statement.
  ///
  /// - Returns: the number of changed rows.
  @discardableResult
  func execute(_ sql: String, _ values: any SQLBindable...) throws(CatalogError) -> Int {
    try execute(sql, values: values)
  }

  @discardableResult
  func execute(_ sql: String, values: [any SQLBindable]) throws(CatalogError) -> Int {
    let statement = try preparedStatement(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {}
    return Int(sqlite3_changes64(handle))
  }

  func all<Value>(
    _ sql: String, _ values: any SQLBindable...,
    read: (Statement) throws(CatalogError) -> Value
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
    let code = sqlite3_exec(handle, script, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, during: "a script") }
  }

  /// An idle cached statement, or a new one.
  func preparedStatement(_ sql: String) throws(CatalogError) -> Statement {
    try requireOpen()
    try interruption?.check(path)
    let text = StatementText(sql: sql)
    if let statement = cache[text]?.first(where: { !$0.isBusy }) { return statement }
    let statement = try Statement(sql, on: self)
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
      if let place { questions.remove(at: place).statement } else { try Statement(sql, on: self) }
    defer {
      statement.reset()
      questions.append((sql, statement))
      if questions.count > Self.mostQuestions { questions.removeFirst().statement.finalize() }
    }
    return try body(statement)
  }

  /// Runs a body in a transaction, rolled back if the body throws.
  func transaction<Value>(
    _ begin: String = "BEGIN IMMEDIATE", _ body: () throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try execute(begin)
    do {
      let value = try body()
      try execute("COMMIT")
      return value
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs a body whose statements end with an error of code `interrupted` once a condition holds.
  ///
  /// Statements after the body are not concerned: unlike `sqlite3_interrupt`, this can't come too late and
  /// end the next one. Source: sqlite.org/c3ref/progress_handler.html.
  ///
  /// - Parameter isInterrupted: asked about each 30 µs of work; must not use the connection.
  func interruptible<Value>(
    when isInterrupted: @escaping @Sendable () -> Bool, _ body: () -> Value
  ) -> Value {
    let outer = interruption
    let own = Interruption(isInterrupted)
    set(own)
    defer { set(outer) }
    return withExtendedLifetime(own) { body() }
  }

  private func set(_ interruption: Interruption?) {
    self.interruption = interruption
    guard isOpen else { return }
    guard let interruption else { return sqlite3_progress_handler(handle, 0, nil, nil) }
    sqlite3_progress_handler(
      handle, 1000,
      { context in
        guard let context else { return 0 }
        let interruption = Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue()
        return interruption.isInterrupted() ? 1 : 0
      },
      // Unretained, because `interruption` keeps it until the handler is taken away.
      Unmanaged.passUnretained(interruption).toOpaque())
  }

  /// A condition that ends statements.
  private final class Interruption {
    let isInterrupted: @Sendable () -> Bool

    init(_ isInterrupted: @escaping @Sendable () -> Bool) { self.isInterrupted = isInterrupted }

    /// Ends work of many short statements, of which none takes long enough to be asked.
    func check(_ path: BytePath) throws(CatalogError) {
      if isInterrupted() { throw .interrupted(path) }
    }
  }

  /// The SQL of all statements prepared so far.
  var statements: [String] { cache.keys.map(\.sql) }

  var isInTransaction: Bool { isOpen && sqlite3_get_autocommit(handle) == 0 }

  private func requireOpen() throws(CatalogError) {
    guard isOpen else {
      throw CatalogError(.database, "\(file.name) “\(path)” is already closed.", path: path)
    }
  }

  /// Rolls back the open transaction, unless SQLite has done so after a full disk or an I/O error.
  func rollBack() {
    guard isInTransaction else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }
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
