import CPostgreSQL
import Glibc
package import PipelineModel

/// A connection to a PostgreSQL server.
///
/// Not thread-safe: one thread at a time uses it.
package final class PostgreSQLConnection {
  private let library: PostgreSQLLibrary
  private let functions: pipeline_postgresql
  private let handle: OpaquePointer
  private var isOpen = true
  /// Ends statements once it says so; asked every 10 ms while the server works.
  package var isInterrupted: (@Sendable () -> Bool)?
  /// Whether statements can be ended, which takes another connection; by default they can.
  package var canCancel = true

  /// Connects to a database.
  ///
  /// - Parameters:
  ///   - address: where the database is.
  ///   - applicationName: how the server lists the connection, unless the address says otherwise.
  /// - Throws: `PostgreSQLError` of code `noLibrary` or `connection`.
  package init(
    _ address: DatabaseLocation, applicationName: String
  ) throws(PostgreSQLError) {
    let library = try PostgreSQLLibrary.shared()
    self.library = library
    functions = library.functions
    // What follows the address overrides it. Source: PQconnectdbParams.
    let parameters: [(String, String)] = [
      ("connect_timeout", "15"), ("tcp_user_timeout", "15000"),
      ("fallback_application_name", applicationName), ("dbname", address.uri),
      ("client_encoding", "UTF8"),
    ]
    let opened = Self.withPointers(parameters.map(\.0)) { keys in
      Self.withPointers(parameters.map(\.1)) { values in
        library.functions.PQconnectdbParams(keys, values, 1)
      }
    }
    guard let opened else {
      throw PostgreSQLError(.connection, "There is no memory for a connection.")
    }
    handle = opened
    guard functions.PQstatus(handle) == CONNECTION_OK else {
      throw PostgreSQLError(.connection, refusal(address))
    }
    // By default, libpq writes notices to the standard error.
    _ = functions.PQsetNoticeReceiver(handle, { _, _ in }, nil)
  }

  deinit { close() }

  package func close() {
    guard isOpen else { return }
    isOpen = false
    functions.PQfinish(handle)
  }

  private func refusal(_ address: DatabaseLocation) -> String {
    let advice =
      if functions.PQconnectionUsedPassword(handle) != 0 {
        " The password comes from PGPASSFILE, ~/.pgpass, a service file or PGPASSWORD."
      } else if functions.PQconnectionNeedsPassword(handle) != 0 {
        " Put the password into ~/.pgpass, a file named by PGPASSFILE, or a service file."
      } else {
        ""
      }
    return "The database “\(address)” can't be opened: \(message).\(advice)"
  }

  /// libpq's last message without the end of its line.
  private var message: String {
    let text = functions.PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    return Self.line(text)
  }

  private static func line(_ text: String) -> String {
    let line = text.split(separator: "\n").joined(separator: " ")
    return line.isEmpty ? "no reason given" : line
  }

  /// Whether the server can't be reached any more.
  package var isLost: Bool { !isOpen || functions.PQstatus(handle) != CONNECTION_OK }

  /// Whether a statement of the transaction failed, so that only a rollback can follow.
  package var isFailed: Bool {
    isOpen && functions.PQtransactionStatus(handle) == PQTRANS_INERROR
  }

  /// The server's version, such as 150018.
  package var serverVersion: Int { Int(functions.PQserverVersion(handle)) }

  /// A setting that the server reports by itself, such as `server_encoding`.
  package func serverSetting(_ name: String) -> String? {
    functions.PQparameterStatus(handle, name).map { String(cString: $0) }
  }

  /// Executes statements without parameters, separated by semicolons, all or none of them.
  package func execute(_ script: String) throws(PostgreSQLError) {
    guard isOpen else { throw Self.closed }
    let result = functions.PQexec(handle, script)
    defer { functions.PQclear(result) }
    if let error = error(of: result) { throw error }
  }

  /// Prepares a statement under a name.
  package func prepare(
    _ sql: String, as name: String, types: [UInt32]
  ) throws(PostgreSQLError) {
    guard isOpen else { throw Self.closed }
    guard functions.PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else {
      throw PostgreSQLError(.connection, message)
    }
    _ = try answer()
  }

  /// Executes a prepared statement and returns all of its rows.
  package func execute(
    prepared name: String, _ parameters: PostgreSQLParameters
  ) throws(PostgreSQLError) -> PostgreSQLResult {
    guard isOpen else { throw Self.closed }
    let isSent = parameters.withPointers { values, lengths, formats in
      functions.PQsendQueryPrepared(handle, name, Int32(values.count), values, lengths, formats, 1)
    }
    guard isSent == 1 else { throw PostgreSQLError(.connection, message) }
    return try answer()
  }

  private static let closed = PostgreSQLError(.connection, "The connection is closed.")

  /// Waits for the result of what was sent.
  private func answer() throws(PostgreSQLError) -> PostgreSQLResult {
    var isCancelled = false
    while functions.PQisBusy(handle) != 0 {
      if let isInterrupted, canCancel, !isCancelled, isInterrupted() {
        cancel()
        isCancelled = true
      }
      var descriptor = pollfd(
        fd: functions.PQsocket(handle), events: Int16(POLLIN), revents: 0)
      _ = poll(&descriptor, 1, isInterrupted == nil || !canCancel || isCancelled ? -1 : 10)
      // A lost connection is told of by the result.
      if functions.PQconsumeInput(handle) == 0 { break }
    }
    let first = functions.PQgetResult(handle)
    // One statement has one result; libpq wants to be asked until there is no more.
    while let more = functions.PQgetResult(handle) { functions.PQclear(more) }
    if let error = error(of: first) {
      functions.PQclear(first)
      // Without cancelling, a limit for statements does the same.
      let isOwn = (isCancelled || !canCancel) && error.state == "57014"
      throw isOwn ? PostgreSQLError(.interrupted, error.message, state: error.state) : error
    }
    guard let first else { throw PostgreSQLError(.connection, message) }
    return PostgreSQLResult(first, library)
  }

  /// Asks the server to end the statement; too late is no harm, as nothing is sent before its answer came.
  private func cancel() {
    guard let request = functions.PQgetCancel(handle) else { return }
    defer { functions.PQfreeCancel(request) }
    var reason = [CChar](repeating: 0, count: 256)
    _ = functions.PQcancel(request, &reason, Int32(reason.count))
  }

  /// The error of a result; `nil` if it has none.
  private func error(of result: OpaquePointer?) -> PostgreSQLError? {
    guard let result else { return PostgreSQLError(.connection, message) }
    let status = functions.PQresultStatus(result)
    if [PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY].contains(status) { return nil }
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { functions.PQresultErrorField(result, Int32($0)) }
        .map { String(cString: $0) }
    }
    // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY and PG_DIAG_MESSAGE_DETAIL.
    let state = field("C")
    let text = [field("M") ?? message, field("D")].compactMap(\.self).joined(separator: ". ")
    return PostgreSQLError(
      isLost || state == nil ? .connection : .refused, Self.line(text), state: state)
  }

  /// Calls a body with C strings and a null pointer after the last.
  private static func withPointers<Value>(
    _ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Value
  ) -> Value {
    let copies = texts.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
  }
}
