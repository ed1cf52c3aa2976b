import Dispatch
import Fixtures
import Foundation
import Glibc
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// Several processes that change one catalog.
@Suite(
  "Participants",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct ParticipantTests: ParticipantSuite {
  @Test("Two processes are one ledger", arguments: LedgerCheck.all)
  func conforms(check: LedgerCheck) throws {
    try TestedDatabase.$current.withValue(.postgreSQL) {
      let harness = try SharedHarness()
      try check.run(harness)
      #expect(try harness.library.integrity() == "ok")
      try harness.close()
    }
  }

  @Test("A catalog that is given up without being closed leaves nobody behind")
  func givenUp() throws {
    let library = try makeLibrary(assets: 1...1)
    _ = try openBeside(library)
    let records = try library.read { try $0.participants() }
    #expect(records.map(\.state) == [.active], "\(records)")
    try library.close()
  }

  @Test("A program that is older than the catalog by now is refused, and changes nothing")
  func olderProgram() throws {
    let library = try makeLibrary(assets: 1...2)
    let beside = try openBeside(library)
    let jobs = try beside.claim(stage: "identify", limit: 1, suspects: false)
    #expect(jobs.count == 1)
    try execute("UPDATE pipeline.schema_version SET version = version + 1", library)
    func refuses(_ body: () throws -> Void) {
      let error = #expect(throws: CatalogError.self, performing: body)
      #expect(error?.code == .newerVersion, "\(String(describing: error))")
    }
    refuses { _ = try beside.claim(stage: "identify", limit: 1, suspects: false) }
    refuses { try complete(jobs, beside) }
    refuses { _ = try library.catalog.retry(assets: [Samples.id(1)]) }
    refuses { _ = try openBeside(library) }
    refuses { try library.read { _ in } }
    try execute("UPDATE pipeline.schema_version SET version = version - 1", library)
    // What it had claimed is as it was, and it goes on.
    try complete(jobs, beside)
    #expect(try library.catalog.backlog()["identify"] == [.done: 1, .ready: 1])
    try beside.close()
    #expect(try library.integrity() == "ok")
    try library.close()
  }

  @Test("Processes that claim and complete at once never get the same row, and count right")
  func atOnce() throws {
    let library = try makeLibrary(assets: 1...300)
    let all = [library.catalog] + (try (0..<2).map { _ in try openBeside(library) })
    let claimed = Mutex<[String: [AssetID]]>([:])
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: all.count) { index in
      do {
        while claimed.withLock({ $0.values.reduce(0) { $0 + $1.count } }) < 600,
          failures.withLock({ $0.isEmpty })
        {
          for stage in ["identify", "thumbnails"] {
            let jobs = try all[index].claim(stage: stage, limit: 7, suspects: false)
            guard !jobs.isEmpty else { continue }
            try complete(jobs, all[index])
            claimed.withLock { $0[stage, default: []] += jobs.map(\.asset) }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    for stage in ["identify", "thumbnails"] {
      #expect(claimed.withLock { $0[stage]?.sorted() } == (1...300).map { Samples.id($0) })
      #expect(try library.catalog.backlog()[stage] == [.done: 300])
    }
    #expect(try library.integrity() == "ok")
    let records = try library.read { try $0.participants() }
    #expect(records.map(\.endedJobs).reduce(0, +) == 600)
    #expect(records.filter { $0.state == .active }.count == 3)
    for catalog in all.dropFirst() { try catalog.close() }
    try library.close()
  }

  /// With `PIPELINE_FAULTS=1` a thousand rows.
  @Test("Two needs of one row that end at once, by two participants, make it ready each time")
  func twoNeeds() throws {
    let count = ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1" ? 1000 : 100
    let library = try makeLibrary(assets: 1...count)
    let needs = ["left", "right"]
    try library.catalog.configure([
      Samples.stage("left", fingerprint: 11), Samples.stage("right", fingerprint: 12),
      Samples.stage("both", fingerprint: 13, needs: needs),
    ])
    let all = [library.catalog, try openBeside(library)]
    // By asset, so that both have the same one in hand.
    let jobs = try zip(all, needs).map { catalog, stage in
      try catalog.claim(stage: stage, limit: count, suspects: false).sorted { $0.asset < $1.asset }
    }
    #expect(jobs.map(\.count) == [count, count])
    let rounds = Atomic(0)
    let hasFailed = Atomic(false)
    let works = (0..<2).map { index in
      BackgroundWork {
        do {
          for number in 0..<count {
            // Both begin a round at the same moment.
            rounds.add(1, ordering: .sequentiallyConsistent)
            while rounds.load(ordering: .sequentiallyConsistent) < 2 * (number + 1),
              !hasFailed.load(ordering: .relaxed)
            { sched_yield() }
            try complete([jobs[index][number]], all[index])
          }
        } catch {
          hasFailed.store(true, ordering: .relaxed)
          throw error
        }
      }
    }
    try wait(for: "both") { works.allSatisfy { $0.end != nil } }
    for work in works { try work.end?.get() }
    #expect(try library.catalog.backlog()["both"] == [.ready: count])
    #expect(try library.integrity() == "ok")
    try all[1].close()
    try library.close()
  }

  /// Runs a body while somebody else's transaction has executed a script.
  private func during(_ script: String, _ library: Library, _ body: () throws -> Void) throws {
    guard case .database(let address) = library.place else { return }
    let driver = try PostgreSQLDriver(address, role: .reading)
    defer { driver.close() }
    try driver.executeScript("BEGIN; SET search_path = pipeline; \(script)")
    try body()
    try driver.executeScript("COMMIT")
  }

  @Test("A claim leaves rows out that another claims at the same moment, and waits for nobody")
  func besideClaims() throws {
    let library = try makeLibrary()
    let lock = "SELECT id FROM ledger WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE"
    let turn = "SELECT pg_advisory_xact_lock_shared(\(Schema.applicationID), 2)"
    try during("\(turn); \(lock)", library) {
      let jobs = try library.catalog.claim(stage: "identify", limit: 10, suspects: false)
      #expect(jobs.count == 2)
      try complete(jobs, library.catalog)
    }
    #expect(try library.catalog.claim(stage: "identify", limit: 10, suspects: false).count == 1)
    #expect(try library.integrity() == "ok")
    try library.close()
  }

  @Test("While jobs are ended others can be claimed, but none ended and nothing else changed")
  func besideCompletions() throws {
    let library = try makeLibrary()
    let catalog = library.catalog
    let jobs = try catalog.claim(stage: "identify", limit: 1, suspects: false)
    let other = try openBeside(library)
    let turn = """
      SELECT pg_advisory_xact_lock_shared(\(Schema.applicationID), 2);
      SELECT pg_advisory_xact_lock(\(Schema.applicationID), 3)
      """
    let held = Mutex<(end: BackgroundWork<Void>, change: BackgroundWork<Void>)?>(nil)
    try during(turn, library) {
      let more = try other.claim(stage: "identify", limit: 1, suspects: false)
      #expect(more.count == 1)
      let end = BackgroundWork { _ = try self.complete(jobs, catalog) }
      try wait(for: "the end") { try waits(at: 3, library) == 1 }
      let change = BackgroundWork { try other.requeue(more.map(\.token)) }
      try wait(for: "the change") { try waits(at: 2, library) == 1 }
      #expect(end.end == nil && change.end == nil)
      held.withLock { $0 = (end, change) }
    }
    let both = try #require(held.withLock { $0 })
    try wait(for: "both") { both.end.end != nil && both.change.end != nil }
    try both.end.end?.get()
    try both.change.end?.get()
    #expect(try catalog.backlog()["identify"]?[.done] == 1)
    try other.close()
    try library.close()
  }

  /// How many sessions wait for one of the locks by which writers take turns.
  private func waits(at lock: Int, _ library: Library) throws -> Int {
    try Int(
      text(
        """
        SELECT CAST(count(*) AS text) FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND objid = \(lock) AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """, library) ?? "") ?? 0
  }

  @Test("What one process changes of stages and groups, another has read before its next claim")
  func generation() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    #expect(try other.claim(stage: "later", limit: 9, suspects: false).isEmpty)
    let later = Samples.stage("later", fingerprint: 77)
    try library.catalog.configure(Samples.stages() + [later])
    #expect(try other.claim(stage: "later", limit: 9, suspects: false).count == 3)
    try library.catalog.configure(Samples.stages())
    #expect(try other.claim(stage: "later", limit: 9, suspects: false).isEmpty)
    let policy = GroupPolicy(GroupPolicy.standardRules.filter { $0.kind != .burst })
    try library.catalog.configureGroups(policy)
    try other.write { (writer) throws(CatalogError) in #expect(writer.groupPolicy == policy) }
    try other.close()
    try library.close()
  }

  @Test("A process works on a stage only while the library has the same one, with its own versions")
  func ownStages() throws {
    let library = try makeLibrary()
    var recorded = Samples.stages()
    recorded[1].options = [:]
    try library.catalog.configure(recorded)
    let other = try openBeside(library)
    var own = Samples.stages()
    own[0].runtime = "identify 2; other"
    own[1].fingerprint = Samples.fingerprint(99)
    own[1].options = ["sizes": [["maxPixelSize": 512]]]
    own.append(Samples.stage("unknown", fingerprint: 5))
    let refusals = try other.work(on: own).map(\.refusal)
    #expect(refusals[0] == nil)
    #expect(
      refusals[1]
        == #"Its option “/sizes” is [{"maxPixelSize":512}] here, and not set in the library."#)
    #expect(refusals[2]?.contains("no stage of this name") == true)
    let jobs = try other.claim(stage: "identify", limit: 9, suspects: false)
    #expect(jobs.count == 3)
    #expect(
      try library.count(
        """
        SELECT count(*) FROM attempt JOIN runtime ON runtime.id = attempt.runtime
        WHERE versions = 'identify 2; other'
        """) == 3)
    try complete(jobs, other)
    #expect(try other.claim(stage: "thumbnails", limit: 9, suspects: false).isEmpty)
    #expect(try library.catalog.claim(stage: "thumbnails", limit: 1, suspects: false).count == 1)
    // A plugin without one of its decoders.
    var lacking = Samples.stages()
    lacking[0].accepts = ["image/jpeg"]
    #expect(try other.work(on: lacking)[0].refusal?.contains("some types only") == true)
    // The library changes its mind.
    _ = try other.work(on: own)
    try library.catalog.configure(own)
    #expect(try other.refusals(of: own).allSatisfy { $0.refusal == nil })
    #expect(try other.claim(stage: "thumbnails", limit: 9, suspects: false).count == 3)
    try other.close()
    try library.close()
  }

  @Test("Only one process at a time has the lock; the jobs of those beside it go on when it ends")
  func takers() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let error = #expect(throws: CatalogError.self) {
      _ = try Catalog.open(at: library.place, libraryID: Library.id)
    }
    #expect(error?.code == .locked)
    let kept = try other.claim(stage: "identify", limit: 1, suspects: false)
    let lost = try library.catalog.claim(stage: "identify", limit: 1, suspects: false)
    // As if it were killed just now; one that ends is forgotten, unless it has ended a job.
    try execute("UPDATE pipeline.participant SET jobs = 1 WHERE taker", library)
    try library.close()
    try execute("UPDATE pipeline.participant SET state = 'active' WHERE taker", library)
    try library.reopen()
    // Those of the former one are interrupted, those of the other are not.
    #expect(try library.catalog.configure(Samples.stages()).isEmpty)
    #expect(try library.catalog.backlog()["identify"] == [.ready: 2, .running: 1])
    #expect(throws: CatalogError.self) { try complete(lost, library.catalog) }
    try complete(kept, other)
    #expect(try library.catalog.backlog()["identify"] == [.ready: 2, .done: 1])
    try other.close()
    try library.close()
  }

  @Test(
    "A process whose connections end is gone, and its jobs are others'; one that looks is not",
    arguments: [Int64.min, -1, .max])
  func departed(lockOfAnotherProgram: Int64) throws {
    let library = try makeLibrary()
    guard case .database(let address) = library.place else { return }
    let program = try PostgreSQLDriver(address, role: .reading)
    try program.executeScript("SELECT pg_advisory_lock(\(lockOfAnotherProgram))")
    defer { program.close() }
    let other = try openBeside(library)
    let looking = try openBeside(library, timing: Self.hasty)
    _ = try other.claim(stage: "identify", limit: 2, suspects: false)
    _ = try looking.claim(stage: "identify", limit: 1, suspects: false)
    let news = Mutex<[String]>([])
    looking.listen { event in
      if case .departed(let nodes, _) = event { news.withLock { $0 += nodes } }
    }
    let id = try #require(try other.access.sync { (writer) in writer.participation?.id })
    // As by a kill.
    try execute(
      """
      SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND (classid::bigint << 32) | objid::bigint = \(id)
      """, library)
    try wait(for: "the rescue") {
      try library.catalog.backlog()["identify"] == [.ready: 2, .running: 1]
    }
    let records = try library.read { try $0.participants() }
    #expect(records.filter { $0.state == .expired }.map(\.id) == [id])
    #expect(records.filter { $0.state == .active }.count == 2)
    #expect(news.withLock { $0 } == [OwnProcess.node])
    try looking.close()
    try other.close()
    try library.close()
  }

  @Test("A process that was not heard of in time is refused its late results, and joins anew")
  func fence() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let looking = try openBeside(library, timing: Self.hasty)
    let dropped = Mutex(0)
    other.listen { event in
      if case .overtaken(let count) = event { dropped.withLock { $0 += count } }
    }
    let jobs = try other.claim(stage: "identify", limit: 2, suspects: false)
    let id = try #require(try other.access.sync { (writer) in writer.participation?.id })
    try execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE id = \(id)", library)
    try wait(for: "the rescue") {
      try library.catalog.backlog()["identify"] == [.ready: 3]
    }
    // Somebody else does one of them.
    let again = try library.catalog.claim(stage: "identify", limit: 1, suspects: false)
    #expect(again.map(\.digest) == [jobs[0].digest])
    try complete(again, library.catalog)
    // Its next claim is under another number, and good.
    let more = try other.claim(stage: "identify", limit: 1, suspects: false)
    #expect(more.map(\.digest) == [jobs[1].digest])
    try complete(jobs + more, other)
    #expect(dropped.withLock { $0 } == 2)
    #expect(try other.withdrawn(among: (jobs + more).map(\.token)) == Set(jobs.map(\.token)))
    #expect(try library.catalog.backlog()["identify"] == [.ready: 1, .done: 2])
    #expect(
      try library.count("SELECT count(*) FROM attempt WHERE outcome = 'done'") == 2)
    #expect(
      try library.count("SELECT count(*) FROM attempt WHERE outcome = 'interrupted'") == 2)
    // A result is recorded once, whoever asks.
    #expect(throws: CatalogError.self) { try complete(more, other) }
    let records = try library.read { try $0.participants() }
    #expect(records.first { $0.id == id }?.state == .expired)
    #expect(records.filter { $0.state == .active }.count == 3)
    try looking.close()
    try other.close()
    #expect(try library.integrity() == "ok")
    try library.close()
  }

  @Test(
    "A late file that replaced another's is made again, and jobs given back late are left alone")
  func lateFiles() throws {
    let library = try makeLibrary(assets: 1...2)
    let other = try openBeside(library)
    try complete(try other.claim(stage: "identify", limit: 9, suspects: false), other)
    let jobs = try other.claim(stage: "thumbnails", limit: 9, suspects: false)
    let id = try #require(try other.access.sync { (writer) in writer.participation?.id })
    try execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE id = \(id)", library)
    try library.catalog.rescue([id])
    let file = Samples.rendition("grid", path: "renditions/a")
    let again = try library.catalog.claim(stage: "thumbnails", limit: 1, suspects: false)
    _ = try library.catalog.complete([
      Completion(
        token: again[0].token, outcome: .done(facts: [:], renditions: [file]), seconds: 1)
    ])
    #expect(try library.catalog.backlog()["thumbnails"] == [.done: 1, .ready: 1])
    _ = try other.complete([
      Completion(token: jobs[0].token, outcome: .done(facts: [:], renditions: [file]), seconds: 1)
    ])
    try other.requeue([jobs[1].token])
    #expect(try library.catalog.backlog()["thumbnails"] == [.ready: 2])
    #expect(try library.integrity() == "ok")
    try other.close()
    try library.close()
  }

  @Test("A result for an asset that another process has deleted is ignored")
  func deleted() throws {
    let library = try makeLibrary(assets: 1...2)
    let other = try openBeside(library)
    let dropped = Mutex(0)
    other.listen { event in
      if case .overtaken(let count) = event { dropped.withLock { $0 += count } }
    }
    let jobs = try other.claim(stage: "identify", limit: 9, suspects: false)
    try library.catalog.apply(
      [.purged(Samples.id(1), sequence: 3)], manifestPosition: 3)
    try complete(jobs, other)
    #expect(try library.catalog.backlog()["identify"] == [.done: 1])
    #expect(
      try other.withdrawn(among: jobs.map(\.token)).count == 1 && dropped.withLock { $0 } == 0)
    #expect(try library.integrity() == "ok")
    try other.close()
    try library.close()
  }

  @Test("A suspect of a process that is gone fails as one of this process would")
  func suspects() throws {
    let library = try makeLibrary(assets: 1...1)
    let stages = Samples.stages()
    let failed = Mutex<[JobEvent]>([])
    library.catalog.listen { event in
      if case .departed(_, let events) = event { failed.withLock { $0 += events } }
    }
    for turn in 1...stages[0].attempts + 1 {
      let other = try openBeside(library)
      let jobs = try other.claim(stage: "identify", limit: 1, suspects: true)
      #expect(jobs.map(\.isSuspect) == [turn > stages[0].attempts], "\(turn)")
      // It ends without giving anything back.
      try other.close()
      try library.catalog.rescue([0])
    }
    #expect(try library.catalog.backlog()["identify"] == [.failed: 1])
    #expect(failed.withLock { $0.map(\.asset) } == [Samples.id(1)])
    try library.close()
  }

  @Test(
    "A catalog of version 1 gets participants, and a process beside can't be the one that does it")
  func migration() throws {
    let library = try makeLibrary()
    let jobs = try library.catalog.claim(stage: "identify", limit: 1, suspects: false)
    #expect(jobs.count == 1)
    try library.close()
    try execute(FormerSchema.version1, library)
    let error = #expect(throws: CatalogError.self) { _ = try openBeside(library) }
    #expect(error?.message.contains("older version 1") == true)
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    #expect(try library.catalog.backlog()["identify"] == [.ready: 3])
    let other = try openBeside(library)
    #expect(try other.claim(stage: "identify", limit: 9, suspects: false).count == 3)
    try other.close()
    try library.close()
  }

  @Test("A catalog of version 2 gets the triggers and views of a new one")
  func renewal() throws {
    let library = try makeLibrary()
    let definitions = """
      SELECT string_agg(text, ' ' ORDER BY text) FROM (
        SELECT pg_get_triggerdef(pg_trigger.oid) AS text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
          WHERE NOT tgisinternal AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pipeline')
        UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc
          WHERE prorettype = CAST('trigger' AS regtype) AND pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pipeline')
        UNION ALL SELECT definition FROM pg_views WHERE schemaname = 'pipeline') AS part
      """
    try library.close()
    let new = try text(definitions, library)
    try execute(FormerSchema.version2, library)
    #expect(try text(definitions, library) != new)
    try library.reopen()
    try library.catalog.apply([.asset(Samples.asset(90))], manifestPosition: 9)
    #expect(try text(definitions, library) == new)
    try library.close()
    // One that has them all the same.
    try execute(FormerSchema.version3, library)
    try library.reopen()
    try library.catalog.apply([.asset(Samples.asset(91))], manifestPosition: 10)
    #expect(try text(definitions, library) == new)
    #expect(
      try library.count("SELECT version FROM schema_version") == PostgreSQLSchema.version)
    try library.close()
  }

  @Test("A process beside goes on with a catalog that was made anew, as with one that it never saw")
  func madeAnew() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let dropped = Mutex(0)
    other.listen { event in
      if case .overtaken(let count) = event { dropped.withLock { $0 += count } }
    }
    let jobs = try other.claim(stage: "identify", limit: 2, suspects: false)
    try library.close()
    let draft = try Catalog.create(at: library.place, libraryID: Library.id, isDraft: true)
    try draft.apply((1...3).map { .asset(Samples.asset($0)) }, manifestPosition: 3)
    try draft.finishDraft()
    try library.reopen()
    try library.catalog.configure(Samples.stages())
    // Attempts with the same numbers as the former ones.
    let new = try library.catalog.claim(stage: "identify", limit: 2, suspects: false)
    #expect(new.map(\.token) == jobs.map(\.token))
    try complete(jobs, other)
    #expect(try library.catalog.backlog()["identify"] == [.ready: 1, .running: 2])
    try complete(try other.claim(stage: "identify", limit: 9, suspects: false), other)
    try complete(new, library.catalog)
    #expect(try library.catalog.backlog()["identify"] == [.done: 3])
    try other.close()
    #expect(try library.integrity() == "ok")
    try library.close()
  }

  @Test("A process that stops in a transaction keeps the others from theirs for a while only")
  func stoppedInTransaction() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    var turns = 0
    try other.write { (writer) throws(CatalogError) in
      turns += 1
      #expect(
        try writer.connection.first("SHOW idle_in_transaction_session_timeout") { $0.text(0) }
          == "10s")
      guard turns == 1 else { return }
      try writer.connection.executeScript("SET idle_in_transaction_session_timeout = '50ms'")
      // Its turn would not come otherwise.
      try library.catalog.set("a", to: "b")
    }
    #expect(turns == 2)
    try other.close()
    try library.close()
  }

  @Test("A process that stops while it sends keeps the others from their turns for a while only")
  func stoppedWhileSending() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    try library.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript("SET lock_timeout = '100ms'")
      writer.connection.postgreSQL?.longestStall = .zero
    }
    var turns = 0
    try other.write { (writer) throws(CatalogError) in
      turns += 1
      guard turns == 1 else { return }
      // More than libpq keeps to itself, and no answer is waited for.
      for number in 0..<100 {
        let value = String(repeating: "x", count: 1000)
        try writer.connection.execute(Setting.write, "key \(number)", value)
      }
      // Its turn would not come otherwise.
      try library.catalog.set("a", to: "b")
    }
    #expect(turns == 2)
    #expect(try library.catalog.setting("a") == "b")
    #expect(try library.count("SELECT count(*) FROM setting WHERE key LIKE 'key %'") == 0)
    try other.close()
    try library.close()
  }

  @Test(
    "A process that stops within a long value keeps the others from their turns for a while only")
  func stoppedWithinValue() throws {
    let library = try makeLibrary()
    guard case .database(let address) = library.place else { return }
    let proxy = try DatabaseProxy(to: address)
    let other = try Catalog.openBeside(.database(proxy.address), libraryID: Library.id)
    try library.catalog.write { (writer) throws(CatalogError) in
      try writer.connection.executeScript("SET lock_timeout = '100ms'")
      writer.connection.postgreSQL?.longestStall = .seconds(1)
    }
    let catalog = library.catalog
    let isSet = Mutex(false)
    let turns = Mutex(0)
    try other.write { (writer) throws(CatalogError) in
      guard
        turns.withLock({
          $0 += 1; return $0 == 1
        })
      else { return }
      proxy.stall(afterBytes: 1 << 20)
      Thread.detachNewThread {
        // Who wants a turn ends what stands still, and not what is slow.
        let end = ContinuousClock.now + .seconds(60)
        while proxy.withheldCount == 0, ContinuousClock.now < end { usleep(10_000) }
        try? catalog.set("a", to: "b")
        isSet.withLock { $0 = true }
        proxy.goOn()
      }
      // The first after an answer, so the server has executed nothing since.
      let value = String(repeating: "x", count: 8 << 20)
      try writer.connection.execute(Setting.write, "key", value)
    }
    #expect(turns.withLock { $0 } == 2 && proxy.withheldCount > 0)
    #expect(isSet.withLock { $0 })
    #expect(try library.catalog.setting("a") == "b")
    #expect(try library.catalog.setting("key") == nil)
    try other.close()
    try library.close()
  }

  @Test("A process beside goes on after its connections were lost, before and after a commit")
  func lostConnections() throws {
    let library = try makeLibrary(assets: 1...20)
    guard case .database(let address) = library.place else { return }
    let proxy = try DatabaseProxy(to: address)
    let other = try Catalog.openBeside(
      .database(proxy.address), libraryID: Library.id)
    for number in 1...3 {
      for cut in [DatabaseProxy.Cut.beforeCommit, .afterCommit] {
        proxy.cut(cut)
        let jobs = try other.claim(stage: "identify", limit: 3, suspects: false)
        #expect(jobs.map(\.attempt) == [1, 1, 1])
        proxy.cut(cut)
        try complete(jobs, other)
      }
      #expect(try library.catalog.backlog()["identify"]?[.done] == 6 * number)
    }
    #expect(proxy.cutCount == 12)
    #expect(try library.count("SELECT count(*) FROM attempt") == 18)
    try other.close()
    #expect(try library.integrity() == "ok")
    try library.close()
  }
}
