import PipelineModel
import Records
import Testing

@testable import Catalog

/// The delete rule of each relationship, as `docs/schema.md` lists them.
@Suite("Delete rules", .onEachDatabase, .timeLimit(.minutes(5)))
struct DeleteRuleTests {
  /// Two assets: the second supersedes the first; both stages done for both.
  private func makeLibrary() throws -> Library {
    let library = try Library()
    let run = RunRecord(id: Samples.id(900), verb: "run", startedAt: Samples.start)
    try library.catalog.beginRun(run)
    let sidecar = Samples.stage("sidecar", fingerprint: 3, isAssetScoped: true)
    try library.catalog.configure(Samples.stages() + [sidecar])
    var second = Samples.asset(2)
    second.supersedes = Samples.id(1)
    second.run = run.id
    try library.add([Samples.asset(1), second])
    try library.catalog.apply(
      [
        .sighting(
          Sighting(
            source: Samples.source, path: BytePath("a"), state: .imported, asset: Samples.id(1),
            seenAt: Samples.start))
      ], manifestPosition: 3)
    for stage in ["identify", "thumbnails", "sidecar"] {
      let jobs = try library.catalog.claim(stage: stage, limit: 9, suspects: false)
      _ = try library.catalog.complete(
        jobs.map {
          Completion(
            token: $0.token, outcome: .done(facts: [:], renditions: [Samples.rendition("r")]),
            seconds: 1)
        })
    }
    return library
  }

  private func refuses(_ library: Library, _ sql: String) {
    let error = #expect(throws: CatalogError.self) { try library.execute(sql) }
    #expect(error?.message.lowercased().contains("foreign key") == true)
  }

  @Test(
    "Denied: what is referred to can't be deleted",
    arguments: [
      "original", "source", "stage", "fingerprint", "runtime",
      "ledger WHERE id IN (SELECT ledger FROM job)",
    ])
  func denied(parent: String) throws {
    let library = try makeLibrary()
    let before = try library.count("SELECT count(*) FROM job")
    refuses(library, "DELETE FROM \(parent)")
    #expect(try library.count("SELECT count(*) FROM job") == before)
  }

  @Test("Denied: a row that is served until it is replaced can't be deleted")
  func previousLedger() throws {
    let library = try makeLibrary()
    try library.catalog.configure(Samples.stages(thumbnails: 20))
    #expect(try library.count("SELECT count(*) FROM job WHERE previous_ledger > 0") == 2)
    refuses(
      library, "DELETE FROM ledger WHERE id IN (SELECT previous_ledger FROM job)")
  }

  @Test("Old attempts are forgotten, but for the last of each row")
  func retention() throws {
    let library = try makeLibrary()
    let rows = try library.count("SELECT count(*) FROM attempt")
    for start in [10, 30, 5_000_000] {
      try library.execute(
        """
        INSERT INTO attempt (ledger, runtime, suspect, started_at, ended_at, outcome)
        SELECT (SELECT min(id) FROM ledger), (SELECT min(id) FROM runtime), FALSE, \(start), \(start + 1), 'failed'
        """)
    }
    func forget(before time: Int64) throws {
      #expect(
        try library.catalog.forgetAttempts(before: Timestamp(microseconds: time), after: 0) == nil)
    }
    let first = try library.count("SELECT min(started_at) FROM attempt")
    try forget(before: Int64(first))
    #expect(try library.count("SELECT count(*) FROM attempt") == rows + 3)
    try forget(before: .max)
    #expect(try library.count("SELECT count(*) FROM attempt") == rows)
    #expect(try library.count("SELECT count(DISTINCT ledger) FROM attempt") == rows)
    #expect(try library.count("SELECT count(*) FROM attempt WHERE ended_at = 5000001") == 1)
  }

  @Test("Cascades: jobs, and the rows of the asset's scope, go with their asset")
  func assetCascades() throws {
    let library = try makeLibrary()
    try library.execute("DELETE FROM asset WHERE id = (SELECT min(id) FROM asset)")
    #expect(try library.count("SELECT count(*) FROM asset") == 1)
    #expect(try library.count("SELECT count(*) FROM job") == 3)
    #expect(try library.count("SELECT count(*) FROM ledger WHERE asset IS NOT NULL") == 1)
    // The other rows stand for the bytes, which are still there.
    #expect(try library.count("SELECT count(*) FROM ledger WHERE asset IS NULL") == 4)
    #expect(try library.integrity() == "ok")
  }

  @Test("Nullified: a sighting and a successor outlive the asset they point to")
  func assetNullifies() throws {
    let library = try makeLibrary()
    #expect(try library.count("SELECT count(*) FROM asset WHERE supersedes IS NOT NULL") == 1)
    try library.execute("DELETE FROM asset WHERE id = (SELECT min(id) FROM asset)")
    #expect(try library.count("SELECT count(*) FROM sighting WHERE asset IS NULL") == 1)
    #expect(try library.count("SELECT count(*) FROM asset WHERE supersedes IS NULL") == 1)
  }

  @Test("Nullified: an asset outlives the record of its run")
  func runNullifies() throws {
    let library = try makeLibrary()
    #expect(try library.count("SELECT count(*) FROM asset WHERE run IS NOT NULL") == 1)
    try library.execute("DELETE FROM run")
    #expect(try library.count("SELECT count(*) FROM asset WHERE run IS NULL") == 2)
  }

  @Test("Cascades: rows go with their original, attempts and renditions with their row")
  func originalCascades() throws {
    let library = try makeLibrary()
    #expect(try library.keptKeys().count == 6)
    #expect(try library.count("SELECT count(*) FROM attempt") == 6)
    try library.execute("DELETE FROM asset")
    try library.execute(
      "DELETE FROM original WHERE digest = (SELECT min(digest) FROM original)")
    for table in ["ledger", "attempt", "rendition"] {
      #expect(try library.count("SELECT count(*) FROM \(table)") == 2)
    }
    #expect(try library.integrity() == "ok")
  }

  @Test("Cascades: the needs of a stage go with it")
  func stageNeeds() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    #expect(try library.count("SELECT count(*) FROM stage_need") == 1)
    try library.execute("DELETE FROM stage WHERE name = 'identify'")
    #expect(try library.count("SELECT count(*) FROM stage_need") == 0)
  }
}
