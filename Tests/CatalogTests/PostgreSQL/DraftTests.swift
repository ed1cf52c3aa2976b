import Fixtures
import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

/// Catalogs that are made anew in PostgreSQL.
@Suite(
  "A new catalog in PostgreSQL",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct DraftTests {
  private let database: DatabaseLocation

  init() throws {
    database = try PostgreSQLServer.shared.makeDatabase()
  }

  private func place(_ address: DatabaseLocation) -> CatalogPlace { .database(address) }

  private func first(_ sql: String) throws -> Int64? {
    let driver = try PostgreSQLDriver(database, role: .reading)
    defer { driver.close() }
    return try driver.first(sql) { $0.int64(0) }
  }

  private func execute(_ script: String) throws {
    let driver = try PostgreSQLDriver(database, role: .reading)
    defer { driver.close() }
    try driver.executeScript(script)
  }

  @Test(
    "A draft is finished once, whether the answer of its last commit or the commit itself is lost",
    arguments: [false, true])
  func finish(isMade: Bool) throws {
    try Catalog.create(at: place(database), libraryID: Library.id).close()
    let proxy = try DatabaseProxy(to: database)
    let draft = try Catalog.create(at: place(proxy.address), libraryID: Library.id, isDraft: true)
    try draft.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    proxy.cut(isMade ? .afterCommit : .beforeCommit)
    let former = try draft.finishDraft()
    #expect(proxy.cutCount == 1 && former != nil)
    let reader = try CatalogReader.open(at: place(database), immutable: false)
    #expect(try reader.assetCount() == 1)
    try reader.close()
    #expect(
      try first("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pipeline%'") == 2)
  }

  @Test("A catalog is there once the answer of the commit that makes it is lost")
  func create() throws {
    let proxy = try DatabaseProxy(to: database)
    proxy.cut(.afterCommit)
    let catalog = try Catalog.create(at: place(proxy.address), libraryID: Library.id)
    #expect(proxy.cutCount == 1)
    try catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    try catalog.close()
  }

  @Test("A commit that makes a catalog and does not arrive is an error at once")
  func createInVain() throws {
    let proxy = try DatabaseProxy(to: database)
    proxy.cut(.beforeCommit)
    let duration = ContinuousClock().measure {
      let error = #expect(throws: CatalogError.self) {
        _ = try Catalog.create(at: place(proxy.address), libraryID: Library.id)
      }
      #expect(error?.code == .unreachable)
    }
    #expect(duration < .seconds(30))
    try Catalog.create(at: place(database), libraryID: Library.id).close()
  }

  @Test("Neither another library's catalog nor a schema that is none is replaced or removed")
  func others() throws {
    try Catalog.create(at: place(database), libraryID: Library.id).close()
    let other = "0190b5a4-0000-7000-8000-000000000002"
    func draft(_ id: String) throws {
      try Catalog.create(at: place(database), libraryID: id, isDraft: true).close()
    }
    let error = #expect(throws: CatalogError.self) { try draft(other) }
    #expect(error?.message.contains("needs another database") == true)
    try execute("CREATE SCHEMA pipeline_new; CREATE TABLE pipeline_new.t (a bigint)")
    let refusal = #expect(throws: CatalogError.self) { try draft(Library.id) }
    #expect(refusal?.message.contains("pipeline_new") == true)
    #expect(try first("SELECT count(*) FROM pipeline_new.t") == 0)
    try execute("DROP SCHEMA pipeline_new CASCADE")
    // What a rebuild left that was killed is removed.
    try draft(Library.id)
    try draft(Library.id)
  }

  @Test("Only commits to the catalog are news")
  func dataVersion() throws {
    let catalog = try Catalog.create(at: place(database), libraryID: Library.id)
    let reader = try CatalogReader.open(at: place(database), immutable: false)
    let before = try reader.dataVersion
    try execute("CREATE TABLE public.other AS SELECT 1 AS a")
    #expect(try reader.dataVersion == before)
    try catalog.apply([.asset(Samples.asset(1))], manifestPosition: 1)
    #expect(try reader.dataVersion != before)
    try reader.close()
    try catalog.close()
  }
}
