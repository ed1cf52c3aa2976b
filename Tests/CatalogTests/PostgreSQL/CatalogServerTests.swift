import Catalog
import Fixtures
import PostgreSQL
import Testing

@Suite(
  "What doctor asks a server",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(1)))
struct CatalogServerTests {
  @Test("The transaction that has been open longest is told, with the program that keeps it")
  func oldTransaction() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let idle = try PostgreSQLConnection(address, applicationName: "idle")
    let report = try PostgreSQLConnection(address, applicationName: "a report")
    let late = try PostgreSQLConnection(address, applicationName: "late")
    defer { for connection in [idle, report, late] { connection.close() } }
    #expect(try CatalogServer(address, libraryID: nil, oldAt: .zero).oldTransaction == nil)
    try report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    try late.execute("BEGIN; SELECT 1")
    let old = try #require(
      try CatalogServer(address, libraryID: nil, oldAt: .zero).oldTransaction)
    #expect(old.program == "a report" && old.user == "pipeline" && old.process > 0)
    #expect(try CatalogServer(address, libraryID: nil).oldTransaction == nil)
    try report.execute("ROLLBACK")
    let next = try CatalogServer(address, libraryID: nil, oldAt: .zero).oldTransaction
    #expect(next?.program == "late")
  }
}
