import Catalog
import Configuration
import Fixtures
import Glibc
import PipelineModel
import PipelinePlugin
import Records
import Synchronization
import Testing

@testable import Engine

/// Results that wait for their commit.
@Suite("Uncommitted results", .timeLimit(.minutes(2)))
struct UncommittedTests {
  @Test("No more jobs start while results hold too many bytes for the database")
  func bytes() throws {
    let (size, width) = (6 << 20, 4)
    let fixture = try EngineFixture()
    for number in 0..<40 { try fixture.add("\(number)") }
    let backend = FakeBackend(FakeBackend.manifest("large")) { request, _ in
      writeOutput([UInt8](repeating: 1, count: size), "large.jpg", request)
      return .done(renditions: [rendition("large", at: "large.jpg")])
    }
    let stage = StageConfiguration.stage("s", "large") {
      $0.storage = .database
      $0.concurrency = width
    }
    let ledger = GatheringLedger(fixture.catalog)
    let engine = try fixture.engine(try fixture.plan([stage], [backend]), ledger: ledger)
    defer { engine.close() }
    ledger.isComplete.withLock { $0 = { engine.state.withLock { $0.jobs.active == 0 } } }
    try engine.drain { false }
    ledger.isComplete.withLock { $0 = { true } }
    let greatest = ledger.groups.withLock { $0.max() ?? 0 }
    #expect(greatest >= Engine.mostUncommittedBytes)
    // Those that run at the time still end.
    #expect(greatest < Engine.mostUncommittedBytes + width * size)
    #expect(backend.jobs == 40)
  }
}

extension UncommittedTests {
  @Test(
    "Jobs that were claimed while they were short are given back when one is long; each is done once"
  )
  func surplus() throws {
    let fixture = try EngineFixture()
    for number in 0..<100 { try fixture.add("\(number)") }
    let begun = Mutex(0)
    let backend = FakeBackend(FakeBackend.manifest("changing")) { _, _ in
      let count = begun.withLock { count in
        count += 1
        return count
      }
      // Longer than jobs of which more wait than four.
      if (40..<43).contains(count) { usleep(300_000) }
      return .done(facts: ["n": 1])
    }
    let stage = StageConfiguration.stage("s", "changing") { $0.concurrency = 1 }
    let ledger = CountingLedger(fixture.catalog)
    let engine = try fixture.engine(try fixture.plan([stage], [backend]), ledger: ledger)
    defer { engine.close() }
    try engine.drain { false }
    #expect(ledger.requeued.withLock { $0 } > 0)
    #expect(backend.jobs == 100)
    #expect(try fixture.catalog.backlog()["s"] == [.done: 100])
    #expect(ledger.groups.withLock { $0.reduce(0, +) } == 100)
  }
}

/// A ledger that counts what is given back, and the results of each group.
private final class CountingLedger: WrappedLedger {
  let ledger: any Ledger
  let requeued = Mutex(0)
  let groups = Mutex<[Int]>([])

  init(_ ledger: any Ledger) { self.ledger = ledger }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    groups.withLock { $0.append(completions.count) }
    return try ledger.complete(completions)
  }

  func requeue(_ tokens: [AttemptToken]) throws(CatalogError) {
    requeued.withLock { $0 += tokens.count }
    try ledger.requeue(tokens)
  }
}

/// A ledger that commits only when no job runs, so that the next group is as large as it may be.
private final class GatheringLedger: WrappedLedger {
  let ledger: any Ledger
  let isComplete = Mutex<@Sendable () -> Bool>({ true })
  /// The bytes for the database in each group.
  let groups = Mutex<[Int]>([])

  init(_ ledger: any Ledger) { self.ledger = ledger }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    let bytes = completions.map { completion in
      guard case .done(_, let renditions) = completion.outcome else { return 0 }
      return renditions.reduce(0) { $0 + $1.bytes }
    }
    groups.withLock { $0.append(bytes.reduce(0, +)) }
    let isComplete = isComplete.withLock { $0 }
    while !isComplete() { usleep(1_000) }
    return try ledger.complete(completions)
  }
}
