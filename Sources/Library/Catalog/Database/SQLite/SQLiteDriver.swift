import CSQLite
import PipelineModel
import Records

/// A connection to an SQLite file.
final class SQLiteDriver: DatabaseDriver {
  let path: BytePath
  let file: DatabaseFile
  let handle: OpaquePointer
  private var isOpen = true
  private var beginning: SQLiteStatement?
  private var committing: SQLiteStatement?
  private var reading: SQLiteStatement?
  /// When the current wait for another connection's lock began.
  private var waitStart: ContinuousClock.Instant?
  /// What may end the statements that run now.
  private var interruption: Interruption?

  let dialect = SQLDialect.sqlite

  /// Turns off SQLite's memory statistics, which take a mutex for each allocation.
  ///
  /// Has no effect if other code in the process has initialized SQLite before.
  private static let withoutStatistics: Void = { _ = pipeline_sqlite_keep_no_statistics() }()

  /// - Parameter model: a file whose owner and permissions a new file gets; by default the umask
  ///   decides.
  init(
    _ path: BytePath, mode: Connection.Mode, of file: DatabaseFile, permissionsOf model: BytePath?
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

  private func prepare(_ mode: Connection.Mode) throws(CatalogError) {
    // The file may be untrusted: its schema must not run harmful functions.
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
      (SQLITE_DBCONFIG_DQS_DDL, 0), (SQLITE_DBCONFIG_DQS_DML, 0),
    ] as [(Int32, Int32)] {
      pipeline_sqlite_configure(handle, option, value)
    }
    waitForLocks()
    // No mmap: an I/O error would raise a signal, and SQLite 3.40 has a bug with mmap and WAL.
    try executeScript("PRAGMA mmap_size = 0")
    try executeScript("PRAGMA cell_size_check = ON")
    try executeScript("PRAGMA temp_store = MEMORY")
    switch mode {
    case .create, .write:
      guard sqlite3_db_readonly(handle, "main") == 0 else {
        throw CatalogError(
          sqlite: SQLITE_READONLY, systemError: 0, detail: "opened for reading only", path: path,
          of: file, sql: nil)
      }
      try executeScript("PRAGMA foreign_keys = ON")
    case .read, .readImmutable:
      try executeScript("PRAGMA query_only = ON")
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
        let driver = Unmanaged<SQLiteDriver>.fromOpaque(context).takeUnretainedValue()
        return driver.isWorthAnotherTry(after: tries) ? 1 : 0
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
    try executeScript("PRAGMA cache_size = -\(Self.cacheKibibytes)")
    try executeScript("PRAGMA cache_spill = 8192")
    // A long log, because digests touch pages all over the file: a page changed by several commits
    // is written back once.
    try executeScript("PRAGMA wal_autocheckpoint = 8192")
    try executeScript("PRAGMA journal_size_limit = 67108864")
  }

  /// Configures this as the writing connection to the database of renditions, with durable commits.
  func prepareWritingRenditions() throws(CatalogError) {
    try useLog()
    // Bytes are written once and not read again, so a cache would only take memory. Pages that spill
    // before the commit are in the log once, too: nothing changes them any more.
    try executeScript("PRAGMA cache_size = -1024")
    // Only the index has pages that several commits change.
    try executeScript("PRAGMA wal_autocheckpoint = 4096")
    try executeScript("PRAGMA journal_size_limit = 33554432")
  }

  /// Leaves file and log as they are when the connection is closed, as for a file that is refused.
  func keepLog() {
    pipeline_sqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
  }

  private func useLog() throws(CatalogError) {
    let statement = try SQLiteStatement("PRAGMA journal_mode = WAL", on: self)
    defer { statement.finalize() }
    guard try statement.step(), statement.text(0) == "wal" else {
      throw CatalogError(
        .database,
        "\(file.name) “\(path)” can't use a write-ahead log here. Use a local file system.",
        path: path)
    }
    // FULL flushes the log at each commit, so a completed commit survives a power failure. NORMAL
    // would keep the file consistent but lose the latest commits, and with them the knowledge that
    // files may be removed.
    try executeScript("PRAGMA synchronous = FULL")
    try executeScript("PRAGMA secure_delete = OFF")
  }

  /// Configures this as the only connection to a file that is discarded unless finished.
  ///
  /// Each page is written once, in place, without waiting for a flush.
  func prepareDraft() throws(CatalogError) {
    try executeScript("PRAGMA journal_mode = OFF")
    try executeScript("PRAGMA synchronous = OFF")
    try executeScript("PRAGMA locking_mode = EXCLUSIVE")
    // Digests touch pages all over the file; cached pages are written less often.
    try executeScript("PRAGMA cache_size = -32768")
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    for statement in [beginning, committing, reading] { statement?.finalize() }
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

  func prepare(_ sql: String) throws(CatalogError) -> any DatabaseStatement {
    try SQLiteStatement(sql, on: self)
  }

  func executeScript(_ script: String) throws(CatalogError) {
    let code = sqlite3_exec(handle, script, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code, during: "a script") }
  }

  var changedRows: Int { Int(sqlite3_changes64(handle)) }

  // MARK: Transactions

  func begin(_ kind: TransactionKind) throws(CatalogError) {
    switch kind {
    case .writing, .claiming, .completing: try run("BEGIN IMMEDIATE", &beginning)
    case .reading: try run("BEGIN", &reading)
    }
  }

  func commit() throws(CatalogError) { try run("COMMIT", &committing) }

  /// Executes a statement that is prepared once.
  private func run(_ sql: String, _ prepared: inout SQLiteStatement?) throws(CatalogError) {
    let statement = if let prepared { prepared } else { try SQLiteStatement(sql, on: self) }
    prepared = statement
    defer { statement.reset() }
    while try statement.step() {}
  }

  var isInTransaction: Bool { isOpen && sqlite3_get_autocommit(handle) == 0 }

  /// Rolls back the open transaction, unless SQLite has done so after a full disk or an I/O error.
  func rollBack() {
    guard isInTransaction else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  // MARK: Interrupting

  /// Unlike `sqlite3_interrupt`, this can't come too late and end the next statement.
  ///
  /// Source: sqlite.org/c3ref/progress_handler.html.
  ///
  /// - Parameter isInterrupted: asked about each 30 µs of work.
  func interrupt(when isInterrupted: (@Sendable () -> Bool)?) {
    let outer = interruption
    // The handler may not outlive what it refers to.
    defer { withExtendedLifetime(outer) {} }
    interruption = isInterrupted.map { Interruption($0) }
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
  }
}
