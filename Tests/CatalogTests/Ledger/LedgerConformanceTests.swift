import Catalog
import Dispatch
import PipelineModel
import Records
import Synchronization
import Testing

/// Holds the catalog to what every `Ledger` must do.
@Suite("The ledger", .onEachDatabase, .timeLimit(.minutes(5)))
struct LedgerConformanceTests {
  @Test("The catalog is a ledger", arguments: LedgerCheck.all)
  func conforms(check: LedgerCheck) throws {
    let harness = try CatalogHarness()
    try check.run(harness)
    #expect(try harness.library.integrity() == "ok")
    try harness.library.close()
  }

  @Test("Many threads never get the same row")
  func concurrentClaims() throws {
    let library = try Library()
    let catalog = library.catalog
    try catalog.configure(Samples.stages())
    try library.add((1...400).map { Samples.asset($0) })
    let claimed = Mutex<[AssetID]>([])
    let failures = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      do {
        while true {
          let jobs = try catalog.claim(stage: "identify", limit: 7, suspects: false)
          if jobs.isEmpty { break }
          _ = try catalog.complete(
            jobs.map {
              Completion(token: $0.token, outcome: .done(facts: [:], renditions: []), seconds: 1)
            })
          claimed.withLock { $0 += jobs.map(\.asset) }
        }
      } catch {
        failures.withLock { $0 += 1 }
      }
    }
    #expect(failures.withLock { $0 } == 0)
    #expect(claimed.withLock { $0.sorted() } == (1...400).map { Samples.id($0) })
    #expect(try catalog.backlog()["thumbnails"] == [.ready: 400])
  }
}
