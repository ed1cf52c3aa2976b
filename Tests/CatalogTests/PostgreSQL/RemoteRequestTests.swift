import Fixtures
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// Requests of processes on other machines.
@Suite(
  "Requests by the database",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct RemoteRequestTests: ParticipantSuite {
  @Test("They are begun in order, answered once, and forgotten")
  func answered() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let first = try other.ask("first \u{1F600}")
    let second = try other.ask("second")
    let begun = try #require(try library.catalog.beginRequest())
    #expect(
      begun.id == first.id && !begun.wasBegun && begun.body == "first \u{1F600}"
        && begun.node == OwnProcess.node)
    // As after a kill.
    let again = try #require(try library.catalog.beginRequest())
    #expect(again.id == first.id && again.wasBegun)
    #expect(try other.state(of: first) == .waiting)
    try library.catalog.answer(first.id, "yes")
    try library.catalog.answer(first.id, "no")
    #expect(try other.state(of: first) == .answered("yes"))
    #expect(try library.catalog.beginRequest()?.id == second.id)
    try other.forget(second)
    try other.forget(first)
    try library.catalog.answer(second.id, "done")
    #expect(try other.state(of: second) == .answered("done"))
    #expect(try library.catalog.beginRequest() == nil)
    #expect(try other.state(of: first) == .dropped)
    try other.close()
    try library.close()
  }

  @Test("One that was not begun is taken back; one that was is not")
  func withdrawn() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let first = try other.ask("first")
    #expect(try other.withdraw(first))
    #expect(try library.catalog.beginRequest() == nil)
    let second = try other.ask("second")
    _ = try library.catalog.beginRequest()
    #expect(try !other.withdraw(second))
    try other.close()
    try library.close()
  }

  @Test("Those of a process that is gone are dropped unless they were begun")
  func gone() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let first = try other.ask("first")
    _ = try library.catalog.beginRequest()
    _ = try other.ask("second")
    let jobs = try other.claim(stage: "identify", limit: 1, suspects: false)
    #expect(jobs.count == 1)
    try complete(jobs, other)
    try other.close()
    #expect(try library.catalog.beginRequest()?.id == first.id)
    try library.catalog.answer(first.id, "yes")
    #expect(try library.catalog.beginRequest() == nil)
    #expect(try text("SELECT CAST(count(*) AS text) FROM pipeline.request", library) == "0")
    try library.close()
  }

  @Test("The one with the lock hears of a request, and is missed without it")
  func heard() throws {
    let library = try makeLibrary()
    let heard = Mutex(false)
    library.catalog.listen { event in
      if case .readyJobs = event { heard.withLock { $0 = true } }
    }
    let other = try openBeside(library)
    #expect(try other.hasTaker())
    _ = try other.ask("first")
    try wait(for: "the word") { heard.withLock { $0 } }
    try library.close()
    #expect(try !other.hasTaker())
    try other.close()
  }
}
