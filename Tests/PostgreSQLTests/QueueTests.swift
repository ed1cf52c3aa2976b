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
  private let database: DatabaseLocation
  private let connection: PostgreSQLConnection

  init() throws {
    database = try PostgreSQLServer.shared.makeDatabase()
    connection = try PostgreSQLConnection(database, applicationName: "tests")
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

  @Test(
    "A value that takes longer to be sent than a transaction may be idle is stored",
    arguments: [true, false])
  func slow(isQueued: Bool) throws {
    let proxy = try DatabaseProxy(to: database)
    // A second and more for four megabytes.
    proxy.slowDown(by: 20_000)
    let slow = try PostgreSQLConnection(proxy.address, applicationName: "tests")
    defer { slow.close() }
    try slow.execute("SET idle_in_transaction_session_timeout = '300ms'")
    try slow.prepare("INSERT INTO t VALUES (1, $1)", as: "insert", types: [17])
    var parameters = PostgreSQLParameters()
    parameters.append([UInt8](repeating: 7, count: 4 << 20))
    try slow.execute("BEGIN")
    if isQueued {
      try slow.enqueue(prepared: "insert", parameters, sql: "insert")
      try slow.finishQueue()
    } else {
      _ = try slow.execute(prepared: "insert", parameters)
    }
    try slow.execute("COMMIT")
    #expect(try count() == 1)
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

  @Test("What waits to be sent and answered is bounded: a full queue is waited for")
  func bound() throws {
    let most = PostgreSQLConnection.mostQueued
    let other = try PostgreSQLConnection(database, applicationName: "tests")
    try other.prepare("SELECT count(*) FROM t", as: "count", types: [])
    func committed() throws -> Int64 {
      try other.execute(prepared: "count", PostgreSQLParameters()).integer(0, 0)
    }
    // Each queue without BEGIN is a transaction.
    for number in 0..<10 {
      try insert(number, size: 1 << 20)
      #expect(connection.queuedBytes <= most.bytes && !connection.queue.isEmpty)
    }
    #expect(try committed() == 9)
    // One that is larger than all is sent alone.
    try insert(10, size: most.bytes + 1)
    #expect(connection.queue.count == 1)
    try insert(11)
    #expect(try committed() == 11)
    try connection.finishQueue()
    for number in 12..<12 + 2 * most.statements + 1 { try insert(number) }
    #expect(connection.queue.count == 1)
    #expect(try committed() == 12 + 2 * Int64(most.statements))
    // The error of one before is that of the statement that finds the queue full.
    try insert(0)
    for number in 0..<most.statements - 2 { try insert(10_000 + number) }
    let error = #expect(throws: PostgreSQLError.self) { try insert(20_000) }
    #expect(error?.state == "23505" && error?.queuedStatement == "insert 0")
    #expect(connection.queue.isEmpty && !connection.isLost)
  }

  @Test("A statement that libpq refuses is not waited for")
  func refused() throws {
    var tooMany = PostgreSQLParameters()
    for _ in 0...Int(UInt16.max) { tooMany.append(Int64(1)) }
    for isFirst in [true, false] {
      if !isFirst { try insert(1) }
      let error = #expect(throws: PostgreSQLError.self) {
        try connection.enqueue(prepared: "insert", tooMany, sql: "")
      }
      #expect(error?.code == .refused, "\(error?.message ?? "")")
      #expect(try count() == (isFirst ? 0 : 1))
      // A script needs a connection without a queue.
      try connection.execute("SELECT 1; SELECT 2")
    }
  }

  @Test(
    "A statement that is ended ends those behind it, and the connection is as good as before",
    arguments: [true, false])
  func interrupted(canCancel: Bool) throws {
    try connection.prepare("SELECT pg_sleep(60)::text", as: "sleep", types: [])
    connection.canCancel = canCancel
    if canCancel {
      connection.isInterrupted = { true }
    } else {
      try connection.execute("SET statement_timeout = 50")
    }
    for isQueued in [true, false] {
      try connection.enqueue("BEGIN")
      try insert(1)
      let error = #expect(throws: PostgreSQLError.self) {
        if isQueued {
          try connection.enqueue(prepared: "sleep", PostgreSQLParameters(), sql: "sleep")
          _ = try count()
        } else {
          _ = try connection.execute(prepared: "sleep", PostgreSQLParameters())
        }
      }
      #expect(error?.code == .interrupted && connection.isFailed)
      connection.isInterrupted = nil
      try connection.execute("ROLLBACK")
      #expect(try count() == 0)
      if canCancel { connection.isInterrupted = { true } }
    }
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
