import Fixtures
import PipelineModel
import Records
import Synchronization
import Testing

@testable import Catalog

/// What goes wrong between several processes that change one catalog.
@Suite(
  "Faults of participants",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5))
)
struct ParticipantFaultTests: ParticipantSuite {
  @Test(
    "A stage for which a process lacks decoders is left to others, until the library lacks them, too"
  )
  func lack() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    var lacking = Samples.stages()
    lacking[0].accepts = ["image/jpeg"]
    #expect(try other.work(on: lacking)[0].refusal != nil)
    #expect(try other.claim(stage: "identify", limit: 9, suspects: false).isEmpty)
    try library.catalog.configure(lacking)
    #expect(try other.claim(stage: "identify", limit: 1, suspects: false).count == 1)
    try library.catalog.configure(Samples.stages())
    #expect(try other.claim(stage: "identify", limit: 9, suspects: false).isEmpty)
    try other.close()
    try library.close()
  }

  @Test("A process whose presence is cut is there again before it looks, or renews its pulse")
  func presence() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let id = try number(of: other)
    let holders = """
      SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
        AND CAST(classid AS bigint) * 4294967296 + CAST(objid AS bigint) = \(id)
      """
    let former = try library.count(holders)
    #expect(former > 0)
    try execute("SELECT pg_terminate_backend(\(former))", library)
    try wait(for: "another connection") {
      let now = try library.count(holders)
      return now > 0 && now != former
    }
    try other.close()
    try library.close()
  }

  @Test("A process leaves in its turn, so that a rescue by another takes each attempt or leaves it")
  func leaving() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    let id = try number(of: other)
    _ = try other.claim(stage: "identify", limit: 1, suspects: false)
    var leave: BackgroundWork<Void>?
    try library.catalog.write { (writer) throws(CatalogError) in
      let work = BackgroundWork { try other.close() }
      leave = work
      #expect(throws: Never.self) {
        try wait(for: "its end, or its turn") {
          try turns(granted: false, library) == 1 || work.end != nil
        }
      }
      let state = try writer.connection.first("SELECT state FROM participant WHERE id = ?", id) {
        $0.text(0)
      }
      #expect(state == "active")
    }
    try wait(for: "its end") { leave?.end != nil }
    #expect(try library.count("SELECT count(*) FROM participant WHERE id = \(id)") == 0)
    try library.catalog.rescue([0])
    #expect(try library.catalog.backlog()["identify"] == [.ready: 3])
    try library.close()
  }

  @Test("After a loss, a process waits for its former session before it repeats a transaction")
  func formerSession() throws {
    let library = try makeLibrary(assets: 1...6)
    guard case .database(let address) = library.place else { return }
    // Its commit waits for a lock that the test has.
    try execute(
      """
      CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(77); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON pipeline.attempt DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.late();
      """, library)
    let proxy = try DatabaseProxy(to: address)
    let other = try Catalog.openBeside(
      .database(proxy.address), libraryID: Library.id, timing: Self.silent)
    let holder = try PostgreSQLDriver(address, role: .reading)
    try holder.executeScript("SELECT pg_advisory_lock(77)")
    proxy.cut(.duringCommit)
    let claim = BackgroundWork { try other.claim(stage: "identify", limit: 3, suspects: false) }
    try wait(for: "its next session") { try turns(granted: false, library) == 1 }
    holder.close()
    try wait(for: "its jobs") { claim.end != nil }
    #expect(try claim.end?.get().count == 3)
    #expect(proxy.cutCount == 1)
    // By a claim that was repeated, there were six.
    #expect(try library.catalog.backlog()["identify"] == [.ready: 3, .running: 3])
    try other.close()
    try library.close()
  }

  @Test("A process stops where the server has lost its commits, or gives its numbers once more")
  func lostCommits() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    _ = try other.claim(stage: "identify", limit: 1, suspects: false)
    try execute("UPDATE pipeline.participant SET mark = 'older' WHERE NOT taker", library)
    try cutWriter(other, library)
    let older = #expect(throws: CatalogError.self) {
      try other.claim(stage: "identify", limit: 1, suspects: false)
    }
    #expect(older?.code == .locked)
    try other.close()
    let next = try openBeside(library)
    let jobs = try next.claim(stage: "identify", limit: 1, suspects: false)
    try execute(
      """
      SET session_replication_role = replica; SET search_path = pipeline; DELETE FROM attempt;
      UPDATE ledger SET state = 'ready'; ALTER TABLE attempt ALTER COLUMN id RESTART WITH \(jobs[0].token.rawValue)
      """, library)
    let again = #expect(throws: CatalogError.self) {
      try next.claim(stage: "identify", limit: 1, suspects: false)
    }
    #expect(again?.code == .locked)
    #expect(try library.count("SELECT count(*) FROM attempt") == 0)
    try next.close()
    try library.close()
  }

  @Test("A process that joins anew keeps nobody from a turn meanwhile")
  func joining() throws {
    let library = try makeLibrary()
    guard case .database(let address) = library.place else { return }
    let other = try openBeside(library)
    try execute("UPDATE pipeline.participant SET state = 'expired' WHERE NOT taker", library)
    let holder = try PostgreSQLDriver(address, role: .reading)
    try holder.executeScript("BEGIN; LOCK TABLE pipeline.participant IN SHARE MODE")
    let claim = BackgroundWork { try other.claim(stage: "identify", limit: 3, suspects: false) }
    try wait(for: "its new row") {
      try library.count(
        "SELECT count(*) FROM pg_locks WHERE relation = to_regclass('participant') AND NOT granted")
        == 1
    }
    #expect(try turns(granted: true, library) == 0)
    try holder.executeScript("COMMIT")
    holder.close()
    try wait(for: "its jobs") { claim.end != nil }
    #expect(try claim.end?.get().count == 3)
    try other.close()
    try library.close()
  }

  @Test("A turn is waited for longer than any other lock")
  func longTurn() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    try other.access.sync { (writer) throws(CatalogError) in
      try writer.connection.executeScript("SET lock_timeout = '50ms'")
    }
    var claim: BackgroundWork<[ClaimedJob]>?
    try library.catalog.write { _ in
      let work = BackgroundWork {
        try other.claim(stage: "identify", limit: 3, suspects: false)
      }
      claim = work
      var begins: Set<String> = []
      #expect(throws: Never.self) {
        try wait(for: "its next tries") {
          begins.formUnion(try waits(library))
          return begins.count > 2 || work.end != nil
        }
      }
      #expect(work.end == nil)
    }
    try wait(for: "its jobs") { claim?.end != nil }
    #expect(try claim?.end?.get().count == 3)
    try other.close()
    try library.close()
  }

  /// When sessions began to wait for a turn.
  private func waits(_ library: Library) throws -> [String] {
    try library.read { reader in
      try reader.read { (connection) throws(CatalogError) in
        try connection.all(
          """
          SELECT CAST(waitstart AS text) FROM pg_locks
          WHERE locktype = 'advisory' AND objid = 2 AND NOT granted AND waitstart IS NOT NULL
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          """
        ) { $0.text(0) }
      }
    }
  }

  @Test("A process renews its pulse for as long as it lives, also while it waits for its turn")
  func pulse() throws {
    let library = try makeLibrary()
    var timing = Self.hasty
    timing.validity = .seconds(5)
    let other = try openBeside(library, timing: timing)
    let looking = try openBeside(library, timing: Self.hasty)
    let id = try number(of: other)
    func hasRenewed(after seconds: Int) throws -> Bool {
      try library.read { reader in
        try reader.participants().contains {
          $0.id == id && $0.state == .active
            && $0.renewedAt.microseconds - $0.joinedAt.microseconds > seconds * 1_000_000
        }
      }
    }
    try wait(for: "more than its validity") { try hasRenewed(after: 6) }
    // One that is gone, so that both look after it.
    try execute(
      """
      INSERT INTO pipeline.participant (id, taker, node, process, verb, version, state, joined_at, renewed_at, expires_at)
      SELECT 1, FALSE, 'gone', 1, 'work', '', 'active', now(), now(), now()
      """, library)
    try library.catalog.write { _ in
      #expect(throws: Never.self) {
        try wait(for: "their turn") { try turns(granted: false, library) == 2 }
        let since = try renewed(id, library)
        try wait(for: "its pulse") { try renewed(id, library) > since }
      }
    }
    try looking.close()
    try other.close()
    try library.close()
  }

  @Test("A process whose own pulse is over misses nobody until it has renewed it")
  func ownPulse() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    var timing = Self.silent
    timing.look = Self.hasty.look
    let looking = try openBeside(library, timing: timing)
    // As after the server's disk stalled, so that nobody could renew it.
    try execute("UPDATE pipeline.participant SET expires_at = clock_timestamp()", library)
    var looks: Set<String?> = []
    try wait(for: "its looks") {
      looks.insert(
        try text(
          """
          SELECT CAST(max(query_start) AS text) FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE 'SELECT id%FALSE FROM participant%'
          """, library))
      return looks.count > 6
    }
    let id = try number(of: other)
    func isThere() throws -> Bool {
      try library.count(
        "SELECT count(*) FROM participant WHERE id = \(id) AND state = 'active'") == 1
    }
    #expect(try isThere())
    try execute(
      """
      UPDATE pipeline.participant SET expires_at = clock_timestamp() + interval '1 hour'
      WHERE id = \(try number(of: looking))
      """, library)
    try wait(for: "the other's end") { try !isThere() }
    try looking.close()
    try other.close()
    try library.close()
  }

  @Test("A session that ends three times while it waits for its turn is made anew each time")
  func lostTurns() throws {
    let library = try makeLibrary()
    let other = try openBeside(library)
    var claim: BackgroundWork<[ClaimedJob]>?
    let catalog = library.catalog
    try other.access.sync { (writer) throws(CatalogError) in
      try writer.connection.transaction {
        let work = BackgroundWork {
          try catalog.claim(stage: "identify", limit: 1, suspects: false)
        }
        claim = work
        var ended: Set<String> = []
        #expect(throws: Never.self) {
          try wait(for: "three sessions") {
            let waiting = try text(
              """
              SELECT CAST(pid AS text) FROM pg_locks
              WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 2 AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
              """, library)
            if let waiting, ended.insert(waiting).inserted {
              try execute("SELECT pg_terminate_backend(\(waiting))", library)
            }
            return ended.count == 3 || work.end != nil
          }
        }
        #expect(work.end == nil && ended.count == 3)
      }
    }
    try wait(for: "its job") { claim?.end != nil }
    #expect(try claim?.end?.get().count == 1)
    try other.close()
    try library.close()
  }

  @Test("A transaction that only reads writes nothing, also on another connection")
  func readAgain() throws {
    let library = try makeLibrary()
    try cutWriter(library.catalog, library)
    let count = try library.catalog.access.sync { (writer) throws(CatalogError) in
      try writer.connection.transaction(.reading) { () throws(CatalogError) in
        try writer.connection.first("SELECT count(*) FROM asset") { $0.int(0) }
      }
    }
    #expect(count == 3)
    try library.close()
  }

  private func renewed(_ id: Int64, _ library: Library) throws -> Timestamp {
    try library.read { reader in
      try #require(try reader.participants().first { $0.id == id }).renewedAt
    }
  }

  @Test(
    "Who waits hears when others make jobs ready, on each new connection as well, and not of itself"
  )
  func notifications() throws {
    let library = try makeLibrary(assets: 1...1)
    var timing = Self.silent
    timing.look = .milliseconds(20)
    let other = try openBeside(library, timing: timing)
    let heard = Mutex(0)
    other.listen { event in
      if case .readyJobs = event { heard.withLock { $0 += 1 } }
    }
    func expectNews(_ what: String, _ body: () throws -> Void) throws {
      let before = heard.withLock { $0 }
      try body()
      try wait(for: what) { heard.withLock { $0 } > before }
    }
    try expectNews("an import") { try library.add([Samples.asset(2)]) }
    let id = try number(of: other)
    try expectNews("the loss") {
      try execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
          AND (classid::bigint << 32) | objid::bigint = \(id)
        """, library)
    }
    try expectNews("an import after it") { try library.add([Samples.asset(3)]) }
    let jobs = try other.claim(stage: "identify", limit: 9, suspects: false)
    let before = heard.withLock { $0 }
    try other.requeue(jobs.map(\.token))
    // Before each look it takes what has come.
    for _ in 0..<2 {
      let last = try lastLook(of: id, library)
      try wait(for: "a look") { try lastLook(of: id, library) > last }
    }
    #expect(heard.withLock { $0 } == before)
    // What they were about to do is others'.
    try expectNews("one that leaves") { try openBeside(library).close() }
    try expectNews("the library's process, which leaves") { try library.close() }
    try expectNews("the next one") { try library.reopen() }
    try other.close()
    try library.close()
  }

  /// When the connection that is a participant's presence began its last statement, in microseconds.
  private func lastLook(of id: Int64, _ library: Library) throws -> Int64 {
    try library.read { reader in
      try reader.read { (connection) throws(CatalogError) in
        try connection.first(
          """
          SELECT CAST(extract(epoch FROM query_start) * 1000000 AS bigint) FROM pg_stat_activity
          WHERE pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
            AND CAST(classid AS bigint) * 4294967296 + CAST(objid AS bigint) = ?)
          """, id
        ) { $0.int64(0) } ?? 0
      }
    }
  }

  @Test("A process that others took for gone joins anew by itself")
  func expired() throws {
    let library = try makeLibrary()
    let other = try openBeside(library, timing: Self.hasty)
    let id = try number(of: other)
    try execute("UPDATE pipeline.participant SET state = 'expired' WHERE id = \(id)", library)
    try wait(for: "its new number") { try number(of: other) != id }
    #expect(try library.read { try $0.participants() }.filter { $0.state == .active }.count == 2)
    try other.close()
    try library.close()
  }
}
