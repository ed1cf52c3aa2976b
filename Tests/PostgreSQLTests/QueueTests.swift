import Fixtures
import PipelineModel
import Testing

@testable import PostgreSQL

/// Statements that are sent without waiting for their answers.
@Suite(
  "Queued statements",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(2)))
struct QueueTests {
  private let connection: PostgreSQLConnection

  init() throws {
    connection = try PostgreSQLConnection(
      try PostgreSQLServer.shared.makeDatabase(), applicationName: "tests")
    try connection.execute("CREATE TABLE t (a bigint PRIMARY KEY, b bytea)")
    try connection.prepare("INSERT INTO t VALUES ($1, $2)", as: "insert", types: [20, 17])
    try connection.prepare("SELECT count(*) FROM t", as: "count", types: [])
  }

  private func insert(_ number: Int, size: Int = 1) throws {
    var parameters = PostgreSQLParameters()
    parameters.append(Int64(number))
    parameters.append([UInt8](repeating: 7, count: size))
    try connection.enqueue(prepared: "insert", parameters, sql: "insert \(number)")
  }

  private func count() throws -> Int64 {
    try connection.execute(prepared: "count", PostgreSQLParameters()).integer(0, 0)
  }

  @Test("Each statement that is waited for sees what was queued, and has its own answer")
  func order() throws {
    for round in 0..<3 {
      try connection.enqueue("BEGIN")
      for number in 0..<100 { try insert(round * 100 + number) }
      #expect(try count() == Int64(round + 1) * 100)
      // Nothing is queued any more.
      #expect(try count() == Int64(round + 1) * 100)
      try connection.enqueue("COMMIT")
      try connection.finishQueue()
    }
    #expect(connection.queuedChanges == 300)
    try insert(1000)
    try connection.execute("DELETE FROM t WHERE a < 1000")
    try insert(1001)
    try connection.prepare("SELECT sum(a)::bigint FROM t", as: "sum", types: [])
    #expect(try connection.execute(prepared: "sum", PostgreSQLParameters()).integer(0, 0) == 2001)
  }

  @Test("The first error is thrown with its statement, and nothing behind it is executed")
  func failure() throws {
    try connection.enqueue("BEGIN")
    for number in [1, 2, 1, 3] { try insert(number) }
    let error = #expect(throws: PostgreSQLError.self) { try count() }
    #expect(error?.state == "23505" && error?.queuedStatement == "insert 1")
    #expect(connection.isFailed)
    try connection.execute("ROLLBACK")
    #expect(try count() == 0)
    // At the end, too, where the commit is not executed.
    try connection.enqueue("BEGIN")
    for number in [4, 4] { try insert(number) }
    try connection.enqueue("COMMIT")
    let second = #expect(throws: PostgreSQLError.self) { try connection.finishQueue() }
    #expect(second?.queuedStatement == "insert 4")
    try connection.execute("ROLLBACK")
    // The statement that is waited for has no other text.
    try insert(5)
    let own = #expect(throws: PostgreSQLError.self) {
      try connection.execute(prepared: "none", PostgreSQLParameters())
    }
    #expect(own?.state == "26000" && own?.queuedStatement == nil)
    #expect(try count() == 0)
  }

  @Test("More than the sockets take is sent while the server answers")
  func large() throws {
    try connection.enqueue("BEGIN")
    for number in 0..<64 { try insert(number, size: 1 << 20) }
    try connection.prepare("SELECT sum(length(b)) FROM t", as: "size", types: [])
    #expect(
      try connection.execute(prepared: "size", PostgreSQLParameters()).integer(0, 0) == 64 << 20)
    // Many answers, none of which was read.
    for _ in 0..<20_000 { try connection.enqueue(prepared: "count", .init(), sql: "") }
    try connection.enqueue("ROLLBACK")
    try connection.finishQueue()
    #expect(try count() == 0)
  }

  @Test("If the connection is lost, an error says so, and nothing waits for ever")
  func lost() throws {
    try connection.prepare("SELECT pg_terminate_backend(pg_backend_pid())", as: "end", types: [])
    try insert(1)
    try connection.enqueue(prepared: "end", PostgreSQLParameters(), sql: "end")
    try insert(2)
    let error = #expect(throws: PostgreSQLError.self) { try count() }
    #expect(error?.code == .connection && connection.isLost)
    #expect(throws: PostgreSQLError.self) { try connection.enqueue("SELECT 1") }
    #expect(throws: PostgreSQLError.self) { try connection.finishQueue() }
  }
}
