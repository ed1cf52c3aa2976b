import Fixtures
import Foundation
import Glibc
import PipelineModel
import Synchronization
import Testing

@testable import PostgreSQL

/// Statements to a real server.
@Suite(
  "A connection to PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(2)))
struct ConnectionTests {
  private static func connect() throws -> PostgreSQLConnection {
    try PostgreSQLConnection(
      try PostgreSQLServer.shared.makeDatabase(), applicationName: "tests")
  }

  /// Executes one statement.
  private func result(
    _ sql: String, _ parameters: PostgreSQLParameters = PostgreSQLParameters(),
    on connection: PostgreSQLConnection
  ) throws -> PostgreSQLResult {
    try connection.prepare(sql, as: "", types: parameters.types)
    return try connection.execute(prepared: "", parameters)
  }

  @Test("Values of all types come back as they were")
  func values() throws {
    let connection = try Self.connect()
    var parameters = PostgreSQLParameters()
    parameters.append(true)
    parameters.append(Int64.min)
    parameters.append(-Double.leastNormalMagnitude)
    parameters.append("e\u{301} \u{1F3D4} '\\")
    parameters.append([0, 255, 39, 92])
    parameters.append([UInt8]())
    parameters.append("")
    parameters.append(null: .integer)
    let row = try result("SELECT $1, $2, $3, $4, $5, $6, $7, $8", parameters, on: connection)
    #expect(row.rowCount == 1 && row.integer(0, 0) == 1 && row.integer(0, 1) == .min)
    #expect(
      row.real(0, 2) == -Double.leastNormalMagnitude && row.text(0, 3) == "e\u{301} \u{1F3D4} '\\")
    #expect(row.bytes(0, 4) == [0, 255, 39, 92])
    #expect(
      row.bytes(0, 5).isEmpty && !row.isNull(0, 5) && row.text(0, 6) == "" && !row.isNull(0, 6))
    #expect(row.isNull(0, 7) && row.integer(0, 7) == 0)
  }

  @Test(
    "What PostgreSQL can't store is replaced: U+0000 by U+FFFD, and what is not a number by NULL")
  func replaced() throws {
    let connection = try Self.connect()
    var parameters = PostgreSQLParameters()
    parameters.append("a\0b")
    parameters.append(Double.nan)
    parameters.append(Double.infinity)
    let row = try result("SELECT $1, $2, $3", parameters, on: connection)
    #expect(row.text(0, 0) == "a\u{FFFD}b" && row.isNull(0, 1) && row.real(0, 2) == .infinity)
  }

  @Test(
    "Numbers of any precision are read",
    arguments: [
      "0", "1", "-1", "9999", "10000", "123456789012345678", "-0.00012", "12345.6789", "1e20",
    ])
  func numbers(text: String) throws {
    let connection = try Self.connect()
    let row = try result("SELECT \(text)::numeric, (\(text)::numeric)::text", on: connection)
    #expect(row.real(0, 0) == Double(text))
    if let whole = Int64(text), whole.magnitude < 1 << 53 { #expect(row.integer(0, 0) == whole) }
  }

  @Test("An error has its SQLSTATE and no values, and the connection serves on")
  func errors() throws {
    let connection = try Self.connect()
    try connection.execute("CREATE TABLE t (a bigint PRIMARY KEY); INSERT INTO t VALUES (7)")
    var parameters = PostgreSQLParameters()
    parameters.append(Int64(7))
    let error = #expect(throws: PostgreSQLError.self) {
      _ = try result("INSERT INTO t VALUES ($1)", parameters, on: connection)
    }
    #expect(error?.code == .refused && error?.state == "23505")
    #expect(try result("SELECT 1", on: connection).integer(0, 0) == 1)
    #expect(try result("UPDATE t SET a = 8", on: connection).changedRows == 1)
  }

  @Test("A connection that the server ends is lost, and every call says so")
  func lost() throws {
    let connection = try Self.connect()
    let error = #expect(throws: PostgreSQLError.self) {
      try connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    }
    #expect(error?.code == .connection && connection.isLost)
    let again = #expect(throws: PostgreSQLError.self) { try connection.execute("SELECT 1") }
    #expect(again?.code == .connection)
    connection.close()
    #expect(throws: PostgreSQLError.self) { try connection.execute("SELECT 1") }
  }

  @Test("A statement that nobody waits for ends, and the next one does not")
  func interrupted() throws {
    let connection = try Self.connect()
    let isStopped = Mutex(true)
    connection.isInterrupted = { isStopped.withLock { $0 } }
    let error = #expect(throws: PostgreSQLError.self) {
      _ = try result("SELECT pg_sleep(60)", on: connection)
    }
    #expect(error?.code == .interrupted)
    isStopped.withLock { $0 = false }
    #expect(try result("SELECT 1", on: connection).integer(0, 0) == 1)
  }

  @Test("A request to end a statement that comes before the statement is made again")
  func early() throws {
    let proxy = try DatabaseProxy(to: try PostgreSQLServer.shared.makeDatabase())
    let connection = try PostgreSQLConnection(proxy.address, applicationName: "tests")
    connection.isInterrupted = { true }
    proxy.stall(.former)
    Thread.detachNewThread {
      while proxy.endCount == 0 { usleep(1_000) }
      proxy.goOn()
    }
    let error = #expect(throws: PostgreSQLError.self) {
      try connection.execute("SELECT pg_sleep(60)")
    }
    #expect(error?.code == .interrupted && !connection.isLost)
  }

  @Test(
    "A server that does not answer is given up: while connecting, at a statement, and when asked to end it",
    arguments: [false, true])
  func stalled(canCancel: Bool) throws {
    let proxy = try DatabaseProxy(to: try PostgreSQLServer.shared.makeDatabase())
    let connection = try PostgreSQLConnection(proxy.address, applicationName: "tests")
    connection.canCancel = canCancel
    connection.isInterrupted = { true }
    proxy.stall()
    let clock = ContinuousClock()
    let duration = clock.measure {
      let error = #expect(throws: PostgreSQLError.self) { try connection.execute("SELECT 1") }
      #expect(error?.code == .connection && connection.isLost)
    }
    #expect(duration < .seconds(20))
    let address = try DatabaseLocation("\(proxy.address.uri)&connect_timeout=1")
    let wait = clock.measure {
      let error = #expect(throws: PostgreSQLError.self) {
        _ = try PostgreSQLConnection(address, applicationName: "tests")
      }
      #expect(error?.message.contains("does not answer") == true)
    }
    #expect(wait < .seconds(10))
  }

  @Test(
    "Nothing is sent while a request to end the last statement is under way: the connection is closed"
  )
  func late() throws {
    let proxy = try DatabaseProxy(to: try PostgreSQLServer.shared.makeDatabase())
    let connection = try PostgreSQLConnection(proxy.address, applicationName: "tests")
    connection.isInterrupted = { true }
    proxy.stall(.later)
    let error = #expect(throws: PostgreSQLError.self) {
      try connection.execute("SELECT pg_sleep(0.5)")
    }
    #expect(error?.code == .connection && connection.isLost)
  }

  @Test("Statements and texts larger than what a socket holds are sent and read")
  func large() throws {
    let connection = try Self.connect()
    var parameters = PostgreSQLParameters()
    let text = String(repeating: "0123456789abcdef", count: 1 << 20)
    parameters.append(text)
    #expect(try result("SELECT $1::text", parameters, on: connection).text(0, 0) == text)
    try connection.execute("SELECT '\(text)'; SELECT 1")
    #expect(try result("SELECT 1", on: connection).integer(0, 0) == 1)
  }

  @Test(
    "A server that is not there, a user or a database that it does not know: each has a sentence")
  func refused() throws {
    let known = try PostgreSQLServer.shared.makeDatabase().uri
    for (address, part) in [
      ("postgresql:///x?host=%2Fnowhere", "No such file or directory. Is the server running"),
      (
        known.replacing("user=pipeline", with: "user=nobody-known"),
        "role \"nobody-known\" does not exist"
      ),
      (
        known.replacing("postgresql:///test", with: "postgresql:///none"),
        "does not exist. Correct its name, or make it with `createdb --encoding=UTF8 --template=template0 none"
      ),
    ] {
      let error = #expect(throws: PostgreSQLError.self) {
        _ = try PostgreSQLConnection(try DatabaseLocation(address), applicationName: "tests")
      }
      let message = error?.message ?? ""
      #expect(error?.code == .connection && message.contains(part), "\(message)")
      #expect(!message.contains { "\t\n".contains($0) } && !message.hasSuffix("?."))
      #expect(!message.contains("LOCATION"))
    }
  }
}
