import CPostgreSQL
import Files
import Glibc
package import PipelineModel

/// A connection to a PostgreSQL server.
///
/// Not thread-safe: one thread at a time uses it. Nothing but the resolution of names waits in libpq, which has no
/// limit: all other waits are in `PostgreSQLWait`.
package final class PostgreSQLConnection {
  let library: PostgreSQLLibrary
  let functions: pipeline_postgresql
  let handle: OpaquePointer
  private(set) var isOpen = true
  /// Ends statements once it says so; asked every 10 ms while the server works.
  package var isInterrupted: (@Sendable () -> Bool)?
  /// Whether statements can be ended, which takes another connection; by default they can.
  package var canCancel = true
  /// The number of the server's process, as the server says it in `requireOwnSession`.
  var process: Int64 = 0
  /// The texts of statements that nobody has waited for yet.
  var queue: [String] = []
  /// The number of bytes of their parameters.
  var queuedBytes = 0
  /// The number of rows that statements changed which nobody waited for.
  package var queuedChanges = 0

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
    let unusedFile = UnusedPasswordFile(address, library)
    var parameters: [(String, String)] = [
      ("tcp_user_timeout", "15000"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
      ("keepalives_count", "3"),
      ("fallback_application_name", applicationName), ("dbname", address.uri),
      ("client_encoding", "UTF8"),
    ]
    if unusedFile != nil { parameters.append(UnusedPasswordFile.parameter) }
    var opened = try Self.start(parameters, library)
    // Nothing has been sent yet. A mode in the address is one that was chosen, whatever it is.
    let isChosen = address.uri.contains("sslmode=")
    let added =
      isChosen ? [] : PostgreSQLSecurity.parameters { Self.parameter($0, of: opened, library) }
    if !added.isEmpty {
      library.functions.PQfinish(opened)
      opened = try Self.start(added + parameters, library)
    }
    handle = opened
    try connect(address)
    guard functions.PQstatus(handle) == CONNECTION_OK else {
      throw refusal(address, isEncryptionOurs: !added.isEmpty, unusedFile)
    }
    _ = functions.PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    // Sending must not wait, either.
    _ = functions.PQsetnonblocking(handle, 1)
  }

  /// Begins to connect. Source: PQconnectStartParams.
  private static func start(
    _ parameters: [(String, String)], _ library: PostgreSQLLibrary
  ) throws(PostgreSQLError) -> OpaquePointer {
    let opened = withPointers(parameters.map(\.0)) { keys in
      withPointers(parameters.map(\.1)) { values in
        library.functions.PQconnectStartParams(keys, values, 1)
      }
    }
    guard let opened else {
      throw PostgreSQLError(.connection, "There is no memory for a connection.")
    }
    // By default, libpq writes notices to the standard error; a server may have some for each connection.
    _ = library.functions.PQsetNoticeReceiver(opened, { _, _ in }, nil)
    // Only so is there a code of why the server refuses a connection; the rest may be in any language.
    _ = library.functions.PQsetErrorVerbosity(opened, PQERRORS_VERBOSE)
    return opened
  }

  deinit { close() }

  package func close() {
    guard isOpen else { return }
    isOpen = false
    functions.PQfinish(handle)
  }

  /// Connects, to one host after another if there are several. Source: PQconnectPoll.
  private func connect(_ address: DatabaseLocation) throws(PostgreSQLError) {
    let patience = connectionPatience
    var host = place
    var wait = PostgreSQLWait(limit: patience)
    var events = Int16(POLLOUT)
    while functions.PQstatus(handle) != CONNECTION_BAD {
      while !wait.poll(functions.PQsocket(handle), events, step: 100) {
        guard wait.isOver else { continue }
        throw PostgreSQLError(
          .connection, "The database “\(address)” can't be opened: its server does not answer.")
      }
      switch functions.PQconnectPoll(handle) {
      case PGRES_POLLING_READING: events = Int16(POLLIN)
      case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
      default: return
      }
      if place != host {
        host = place
        wait = PostgreSQLWait(limit: patience)
      }
    }
  }

  /// The host that is being tried.
  private var place: [String] {
    [functions.PQhost, functions.PQhostaddr, functions.PQport].map { function in
      function(handle).map { String(cString: $0) } ?? ""
    }
  }

  /// How long to wait for each host: what the address says, or 15 s.
  private var connectionPatience: Duration {
    let value = Self.parameter("connect_timeout", of: handle, library)
    guard let seconds = value.flatMap({ Int($0) }), seconds > 0 else { return .seconds(15) }
    return .seconds(seconds)
  }

  /// A parameter as libpq has it from the address, the environment, a service file, or by default.
  private static func parameter(
    _ name: String, of handle: OpaquePointer, _ library: PostgreSQLLibrary
  ) -> String? {
    let options = library.functions.PQconninfo(handle)
    defer { library.functions.PQconninfoFree(options) }
    return parameter(name, of: options)
  }

  /// A parameter among those of a list, which libpq ends with one that has no name.
  static func parameter(
    _ name: String, of options: UnsafeMutablePointer<PQconninfoOption>?
  ) -> String? {
    guard var option = options else { return nil }
    while let keyword = option.pointee.keyword {
      if strcmp(keyword, name) == 0 { return option.pointee.val.map { String(cString: $0) } }
      option += 1
    }
    return nil
  }

  /// Why there is no connection, with what helps.
  ///
  /// - Parameters:
  ///   - isEncryptionOurs: whether it is this program that demands it.
  ///   - unusedFile: where a password may be that libpq does not take.
  private func refusal(
    _ address: DatabaseLocation, isEncryptionOurs: Bool, _ unusedFile: UnusedPasswordFile?
  ) -> PostgreSQLError {
    let lacksPassword = functions.PQconnectionNeedsPassword(handle) != 0
    let refusal = ConnectionRefusal(errorMessage)
    let isAboutPassword =
      refusal.state == "28P01" || refusal.text.contains("authentication failed")
    let advice =
      if refusal.state == "3D000" {
        " Correct its name, or make it with `createdb --encoding=UTF8 --template=template0 \(database)`."
      } else if isEncryptionOurs, refusal.text.contains("SSL was required") {
        " Over a network, connections are encrypted unless the address says otherwise: to trust the network, add ?sslmode=prefer."
      } else if functions.PQconnectionUsedPassword(handle) != 0, isAboutPassword {
        " The password comes from PGPASSFILE, ~/.pgpass, a service file or PGPASSWORD."
      } else if lacksPassword, let unusedFile {
        " \(unusedFile.advice)"
      } else if lacksPassword {
        " Put the password into ~/.pgpass, a file named by PGPASSFILE, or a service file."
      } else {
        ""
      }
    let text = Self.line(refusal.text)
    let end = text.last.map { ".?!".contains($0) } == true ? "" : "."
    var error = PostgreSQLError(
      .connection, "The database “\(address)” can't be opened: \(text)\(end)\(advice)",
      state: refusal.state)
    error.isRefusal = refusal.isLasting || lacksPassword
    return error
  }

  private var database: String { functions.PQdb(handle).map { String(cString: $0) } ?? "NAME" }

  private var errorMessage: String {
    functions.PQerrorMessage(handle).map { String(cString: $0) } ?? ""
  }

  /// libpq's last message on one line.
  var message: String { Self.line(errorMessage) }

  /// A message of libpq on one line; each of its own is a sentence, which may lack its end.
  static func line(_ text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline)
      .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
      .filter { !$0.isEmpty }
    guard let first = lines.first else { return "no reason given" }
    return lines.dropFirst().reduce(first) { text, line in
      text + (text.last.map { ".:;,?!".contains($0) } == true ? " " : ". ") + line
    }
  }

  /// Whether the server can't be reached any more.
  package var isLost: Bool { !isOpen || functions.PQstatus(handle) != CONNECTION_OK }

  /// Whether a statement of the transaction failed, so that only a rollback can follow.
  package var isFailed: Bool {
    isOpen && functions.PQtransactionStatus(handle) == PQTRANS_INERROR
  }

  /// The server's version, such as 150018.
  package var serverVersion: Int { isOpen ? Int(functions.PQserverVersion(handle)) : 0 }

  /// A setting that the server reports by itself, such as `server_encoding`.
  package func serverSetting(_ name: String) -> String? {
    guard isOpen else { return nil }
    return functions.PQparameterStatus(handle, name).map { String(cString: $0) }
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
