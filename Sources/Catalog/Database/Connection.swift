import CSQLite
import PipelineModel

/// One connection to the database with its prepared statements.
///
/// Not thread-safe: it lives on the queue of a `ConnectionQueue`, or with the
/// one owner of a cursor.
final class Connection {
  /// How a file is opened.
  enum Mode {
    case create, write, read
    /// Without locks and without looking at `-wal`: nobody writes.
    case readImmutable
  }

  let path: BytePath
  let handle: OpaquePointer
  private var cache: [String: [Statement]] = [:]
  private var isOpen = true
  /// When the wait for another connection's lock began.
  private var waitStart: ContinuousClock.Instant?

  /// Counting its memory takes SQLite a mutex for each allocation, and nobody asks. Where something
  /// else in the process has begun with SQLite before, it goes on counting.
  private static let withoutStatistics: Void = { _ = pipeline_sqlite_keep_no_statistics() }()

  init(_ path: BytePath, mode: Mode) throws(CatalogError) {
    Self.withoutStatistics
    let flags =
      switch mode {
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .write: SQLITE_OPEN_READWRITE
      case .read, .readImmutable: SQLITE_OPEN_READONLY
      }
    var handle: OpaquePointer?
    // The queue is the mutex.
    let code = sqlite3_open_v2(
      Self.uri(path, immutable: mode == .readImmutable), &handle,
      flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let handle else {
      let error = CatalogError(
        sqlite: code, systemError: sqlite3_system_errno(handle),
        detail: String(cString: sqlite3_errstr(code)), path: path, sql: nil)
      sqlite3_close(handle)
      throw error
    }
    self.path = path
    self.handle = handle
    do {
      try prepare(mode)
    } catch {
      close()
      throw error
    }
  }

  private func prepare(_ mode: Mode) throws(CatalogError) {
    // The file may come from anywhere: its schema runs no function that could do harm.
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
    ] as [(Int32, Int32)] {
      pipeline_sqlite_configure(handle, option, value)
    }
    waitForLocks()
    // No mmap: an I/O error would be a signal, and SQLite 3.40 has a bug with it and WAL.
    try execute("PRAGMA mmap_size = 0")
    try execute("PRAGMA cell_size_check = ON")
    try execute("PRAGMA temp_store = MEMORY")
    switch mode {
    case .create, .write:
      guard sqlite3_db_readonly(handle, "main") == 0 else {
        throw CatalogError(
          sqlite: SQLITE_READONLY, systemError: 0, detail: "opened for reading only", path: path,
          sql: nil)
      }
      try execute("PRAGMA foreign_keys = ON")
    case .read, .readImmutable:
      try execute("PRAGMA query_only = ON")
    }
  }

  deinit { close() }

  /// Has SQLite ask each time that another connection's lock is in the way. Source: sqlite3_busy_handler.
  private func waitForLocks() {
    // Unretained because the handle is closed before this object goes.
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
    guard CatalogLocks.patience.goesOn(waitingFor: path, since: now - (waitStart ?? now)) else {
      return false
    }
    // Most locks are held for a moment only.
    sqlite3_sleep(tries < 7 ? 1 << tries : 100)
    return true
  }

  /// The memory for pages between transactions of the connection that writes, in KiB.
  static let cacheKibibytes = 2048

  /// Makes this the connection that writes: durable commits to a write-ahead log.
  func prepareWriting() throws(CatalogError) {
    let mode = try first("PRAGMA journal_mode = WAL") { $0.text(0) }
    guard mode == "wal" else {
      throw CatalogError(
        .database,
        "The catalog “\(path)” can't have a write-ahead log here. Use a local file system.",
        path: path)
    }
    // FULL flushes the log at each commit: a commit that was returned survives a power failure.
    // NORMAL would keep the file whole but lose the newest commits, and with them the knowledge
    // that files may be removed.
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA secure_delete = OFF")
    // A watch runs for months: its memory is to be full soon, and small. What is not here is in the
    // kernel's cache. One transaction may have more all the same, up to 8192 pages (32 MiB): a page
    // that makes room before the commit is written to the log twice.
    try execute("PRAGMA cache_size = -\(Self.cacheKibibytes)")
    try execute("PRAGMA cache_spill = 8192")
    // A longer log: digests are spread over all pages, and a page that several commits change is
    // written back once.
    try execute("PRAGMA wal_autocheckpoint = 8192")
    try execute("PRAGMA journal_size_limit = 67108864")
  }

  /// Makes this the one connection to a file that is thrown away unless it is finished: each page
  /// is written once, to its place, and no flush is waited for.
  func prepareDraft() throws(CatalogError) {
    try execute("PRAGMA journal_mode = OFF")
    try execute("PRAGMA synchronous = OFF")
    try execute("PRAGMA locking_mode = EXCLUSIVE")
    // Digests are spread over all pages: what is kept here is written less often.
    try execute("PRAGMA cache_size = -32768")
  }

  /// Closes the file; asserts that no statement is in use.
  func close() {
    guard isOpen else { return }
    isOpen = false
    for statement in cache.values.joined() {
      assert(!statement.isBusy, "A statement is still in use while its connection is closed.")
      statement.finalize()
    }
    cache = [:]
    let code = sqlite3_close(handle)
    assert(code == SQLITE_OK, "A statement was not finalised before its connection was closed.")
  }

  /// Makes an error of what SQLite said last.
  func error(_ code: Int32, during sql: String) -> CatalogError {
    CatalogError(
      sqlite: code, systemError: sqlite3_system_errno(handle),
      detail: String(cString: sqlite3_errmsg(handle)), path: path, sql: sql)
  }

  /// The file as a URI, so that any byte may be in its name.
  private static func uri(_ path: BytePath, immutable: Bool) -> String {
    let plain = Set("/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    let name = path.bytes.map { byte in
      plain.contains(byte)
        ? String(UnicodeScalar(byte)) : "%" + Hexadecimal.encode([byte])
    }
    return "file:" + name.joined() + (immutable ? "?immutable=1" : "")
  }
}

extension Connection {
  /// Runs a statement for its effect.
  ///
  /// - Returns: how many rows it changed.
  @discardableResult
  func execute(_ sql: String, _ values: any SQLBindable...) throws(CatalogError) -> Int {
    try execute(sql, values: values)
  }

  /// Runs a statement for its effect, with a list of values.
  @discardableResult
  func execute(_ sql: String, values: [any SQLBindable]) throws(CatalogError) -> Int {
    let statement = try take(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() {}
    return Int(sqlite3_changes64(handle))
  }

  /// Reads all rows.
  func all<Value>(
    _ sql: String, _ values: any SQLBindable...,
    read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> [Value] {
    let statement = try take(sql)
    defer { statement.reset() }
    try statement.bind(values)
    var rows: [Value] = []
    while try statement.step() { rows.append(try read(statement)) }
    return rows
  }

  /// Reads the first row, or returns `nil` if there is none.
  func first<Value>(
    _ sql: String, _ values: any SQLBindable...,
    read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    try first(sql, values: values, read: read)
  }

  /// Reads the first row for a list of values.
  func first<Value>(
    _ sql: String, values: [any SQLBindable], read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    let statement = try take(sql)
    defer { statement.reset() }
    try statement.bind(values)
    return try statement.step() ? try read(statement) : nil
  }

  /// Gives rows one by one; the body may read more.
  func each(
    _ sql: String, _ values: any SQLBindable...,
    body: (Statement) throws(CatalogError) -> Void
  ) throws(CatalogError) {
    let statement = try take(sql)
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try body(statement) }
  }

  /// Runs several statements that have no parameters.
  func executeScript(_ script: String) throws(CatalogError) {
    try requireOpen()
    let code = sqlite3_exec(handle, script, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, during: "a script") }
  }

  /// A statement from the cache, or a new one while that is in use.
  func take(_ sql: String) throws(CatalogError) -> Statement {
    try requireOpen()
    if let statement = cache[sql]?.first(where: { !$0.isBusy }) { return statement }
    let statement = try Statement(sql, on: self)
    cache[sql, default: []].append(statement)
    return statement
  }

  /// Runs a body in a transaction that is undone if it throws.
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

  /// The statements that were prepared so far.
  var statements: [String] { Array(cache.keys) }

  /// Whether a transaction is open.
  var isInTransaction: Bool { isOpen && sqlite3_get_autocommit(handle) == 0 }

  private func requireOpen() throws(CatalogError) {
    guard isOpen else {
      throw CatalogError(.database, "The catalog “\(path)” is closed already.", path: path)
    }
  }

  /// Undoes the open transaction, if SQLite has not done so itself.
  ///
  /// A full disk or an I/O error may have ended it already.
  func rollBack() {
    guard isInTransaction else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }
}
