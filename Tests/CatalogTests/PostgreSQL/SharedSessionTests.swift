import Fixtures
import PipelineModel
import PostgreSQL
import Records
import Testing

@testable import Catalog

/// Sessions of the server behind a pooler, which may lend them to another client between two transactions.
@Suite(
  "Shared sessions",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ConnectionPooler.isInstalled, "pgbouncer is not installed"),
  .timeLimit(.minutes(2)))
struct SharedSessionTests {
  @Test("The start of a transaction refuses another session than before, and leaves none open")
  func begin() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let pooler = try ConnectionPooler(
      to: address, .transaction, settings: ["server_round_robin = 1"])
    // While this client is busy, the pooler opens a second session, and then lends both in turn.
    let client = try PostgreSQLConnection(try pooler.address, applicationName: "tests")
    defer { client.close() }
    try client.execute("BEGIN")
    let other = try PostgreSQLConnection(try pooler.address, applicationName: "tests")
    defer { other.close() }
    try other.execute("BEGIN")
    try client.execute("COMMIT")
    try other.execute("COMMIT")

    let driver = try PostgreSQLDriver(try pooler.address, role: .writing)
    defer { driver.close() }
    var failure: CatalogError?
    // One of two transactions in a row has another session than the one that was found first.
    for _ in 0..<2 where failure == nil {
      do throws(CatalogError) {
        try driver.begin(.writing)
        driver.rollBack()
      } catch {
        failure = error
      }
    }
    let message = try #require(failure?.message)
    #expect(message.contains("can't be used: a pooler has several programs share one session"))
    #expect(message.hasSuffix("or connect to the server itself."))

    let direct = try PostgreSQLConnection(address, applicationName: "tests")
    defer { direct.close() }
    let open = """
      SELECT CAST(count(*) AS text) FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'
      """
    let count = try direct.execute(open).integer(0, 0)
    #expect(count == 0)
  }

  @Test("A pooler that lends whole sessions is used with the only one it has")
  func onlySession() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    // Clients that want another one wait for so long, and are refused then.
    let patience = Duration.seconds(20)
    let pooler = try ConnectionPooler(
      to: address, .session,
      settings: ["default_pool_size = 1", "query_wait_timeout = \(patience.components.seconds)"])
    let start = ContinuousClock.now
    let driver = try PostgreSQLDriver(try pooler.address, role: .reading)
    defer { driver.close() }
    #expect(try driver.first("SELECT 1") { $0.int64(0) } == 1)
    #expect(
      ContinuousClock.now - start < patience, "It waited for a session that nobody gives back.")
  }
}
