import Testing

/// Holds the catalog to what every `Ledger` must do.
@Suite("The ledger in SQLite", .timeLimit(.minutes(2)))
struct LedgerConformanceTests {
  @Test("The catalog is a ledger", arguments: LedgerCheck.all)
  func conforms(check: LedgerCheck) throws {
    let harness = try CatalogHarness()
    try check.run(harness)
    #expect(try harness.library.integrity() == "ok")
    try harness.library.close()
  }
}
