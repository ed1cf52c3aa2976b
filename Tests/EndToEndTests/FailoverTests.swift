import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// A database whose server changes its part, or goes back in time, while several processes work on a library.
@Suite(
  "A database that can't be changed, or goes back",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(10)))
struct FailoverTests: WorkSuite {
  /// Why a server only lets programs read.
  enum Reason: CaseIterable {
    case standby, setting
  }

  /// With `PIPELINE_FAULTS=1` for so long that each process gives its connections up.
  @Test(
    "While its server may only be read nothing is imported; watch, what joined and work go on by themselves",
    arguments: Reason.allCases)
  func readOnly(_ reason: Reason) throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    let worker = try bench.startWork()
    try bench.put(["before.txt"])
    try bench.wait(forFiles: 1)
    switch reason {
    case .standby:
      try server.stop()
      try server.startAsStandby()
    case .setting:
      // For all but this session.
      try bench.shared.database.execute("SET default_transaction_read_only = off")
      try bench.shared.database.execute("ALTER SYSTEM SET default_transaction_read_only = on")
      try bench.shared.database.execute("SELECT pg_reload_conf()")
    }
    try bench.put(["meanwhile.txt"])
    try bench.workspace.put("of the first machine", as: "first.txt")
    // Work that has nothing to do asks for nothing, unless its connection is lost.
    for run in reason == .standby ? [watch, second, worker] : [watch, second] {
      try run.wait(for: "the reason", within: 120) { hasSaid("is a standby, or read-only", run) }
      if FaultSelection.isFull {
        try run.wait(for: "its pause", within: 180) {
          hasSaid("goes on when the database is back", run)
        }
      }
    }
    #expect(try bench.workspace.assets().count == 1)
    #expect(try bench.workspace.files(below: "from-second") == ["meanwhile.txt"])
    let refused = try bench.workspace.run(
      "work", "--until-idle", "--config", "worker.json", within: 30)
    #expect(
      refused.exitCode == 1 && refused.errors.contains("is a standby, or read-only"), "\(refused)")
    switch reason {
    case .standby:
      try server.promote()
      try bench.shared.reconnect()
    case .setting:
      try bench.shared.database.execute("ALTER SYSTEM RESET default_transaction_read_only")
      try bench.shared.database.execute("SELECT pg_reload_conf()")
    }
    try bench.wait(forFiles: 3)
    for run in [worker, second, watch] { try bench.end(run) }
    try bench.expectSound()
  }

  /// How an older backup takes the place of a database.
  enum Restoring: CaseIterable {
    /// The database is made anew, so that all connections are lost, and is filled table by table.
    case anew
    /// The tables are replaced, while connections and processes are idle.
    case inPlace
    /// In one transaction, as above.
    case atOnce
  }

  @Test(
    "A database restored from an older dump under running processes gets what it lacks again, once",
    arguments: Restoring.allCases)
  func olderDump(_ restoring: Restoring) throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    let worker = try bench.startWork()
    try bench.put((0..<5).map { "\($0).txt" })
    try bench.wait(forFiles: 5)
    let dump = bench.workspace.root.appending("dump")
    try server.dump(bench.shared.address, to: dump)
    try bench.put((5..<20).map { "\($0).txt" })
    try bench.workspace.put("of the first machine", as: "first.txt")
    try bench.wait(forFiles: 21)
    let tagged = BytePath(try #require(try ids(bench).sorted().last))
    try bench.workspace.json("tag", tagged, "--rating", "4")
    let before = try ids(bench)
    switch restoring {
    case .anew: try server.restore(bench.shared.address, from: dump)
    case .inPlace: try server.restore(bench.shared.address, from: dump, replacing: ["--clean"])
    case .atOnce:
      try server.restore(
        bench.shared.address, from: dump, replacing: ["--clean", "--single-transaction"])
    }
    try bench.put(["after.txt"])
    try bench.shared.reconnect()
    try bench.wait(forFiles: 22)
    for run in [watch, second, worker] { try bench.end(run) }
    // The manifest has them, whatever the database has lost.
    #expect(try ids(bench).isSuperset(of: before))
    #expect(try bench.workspace.json("list", "rating:4").count == 1)
    try bench.expectSound()
    #expect(try bench.workspace.json("run").summary["imported"] == 0)
  }

  /// Asserts that processes do not end within a time.
  private func expectAtWork(_ runs: [BuiltProgramRun], for time: Duration) throws {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
      for run in runs where !run.isRunning {
        let outcome = try run.wait(within: 1)
        try #require(outcome.exitCode == nil, "It ended: \(outcome)")
      }
      usleep(50_000)
    }
  }

  /// With `PIPELINE_FAULTS=1` for so long that each process gives its connections up.
  @Test("Watch, what joined and work wait for a backup to be restored, however long that takes")
  func slowRestore() throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    let worker = try bench.startWork()
    let runs = [watch, second, worker]
    try bench.put((0..<5).map { "\($0).txt" })
    try bench.wait(forFiles: 5)
    let dump = bench.workspace.root.appending("dump")
    try server.dump(bench.shared.address, to: dump)
    try bench.put((5..<10).map { "\($0).txt" })
    try bench.wait(forFiles: 10)
    try bench.put(["meanwhile.txt"])
    try server.empty(bench.shared.address)
    // Longer than a connection is tried to be made anew.
    try expectAtWork(runs, for: .seconds(FaultSelection.isFull ? 70 : 10))
    // The parts of a restore, in its order, with time between them for each process to look.
    for part in ["--section=pre-data", "--section=data", "--section=post-data"] {
      try server.restore(bench.shared.address, from: dump, replacing: [], [part])
      if !part.contains("post") { try expectAtWork(runs, for: .seconds(10)) }
    }
    #expect(runs.allSatisfy { $0.outputSoFar.count + $0.errorsSoFar.count > 0 })
    try bench.shared.reconnect()
    try bench.wait(forFiles: 11, within: 180)
    for run in runs {
      try bench.end(run)
      #expect(run.outputSoFar.count + run.errorsSoFar.count < 20_000)
    }
    try bench.expectSound()
  }

  @Test("A catalog that is being restored is not changed before it has its triggers and keys")
  func halfRestored() throws {
    let server = try PostgreSQLServer()
    let bench = try JoinedBench(server: server)
    try bench.workspace.put("one", as: "one.txt")
    try bench.workspace.json("run")
    let database = bench.shared.database
    for (removal, mending) in [
      (
        "ALTER TABLE pipeline.asset DISABLE TRIGGER picture_trash",
        "ALTER TABLE pipeline.asset ENABLE TRIGGER picture_trash"
      ),
      (
        "DROP INDEX pipeline.asset_digest",
        "CREATE INDEX asset_digest ON pipeline.asset (digest, id)"
      ),
      (
        "ALTER TABLE pipeline.counter DROP CONSTRAINT counter_pkey",
        "ALTER TABLE pipeline.counter ADD CONSTRAINT counter_pkey PRIMARY KEY (kind, owner, state)"
      ),
      (
        "ALTER TABLE pipeline.asset DROP CONSTRAINT asset_digest_fkey",
        "ALTER TABLE pipeline.asset ADD CONSTRAINT asset_digest_fkey FOREIGN KEY (digest) REFERENCES pipeline.original"
      ),
    ] {
      try database.execute(removal)
      try bench.workspace.put("two", as: "two.txt")
      for words in [["run"], ["work", "--until-idle", "--config", "worker.json"]] as [[BytePath]] {
        try bench.shared.configure("worker.json", library: "worker", stages: [JoinedBench.identify])
        let outcome = try bench.workspace.program.run(words)
        #expect(
          outcome.exitCode == 1 && outcome.errors.contains("lacks 1 of its triggers"), "\(outcome)")
      }
      #expect(try bench.workspace.assets().count == 1)
      try database.execute(mending)
    }
    try bench.workspace.json("run")
    #expect(try bench.workspace.assets().count == 2)
    try bench.expectSound()
  }

  @Test("What the manifest has and the catalog lost gets no second record by a repair")
  func repair() throws {
    let shared = try SharedWorkspace(stages: [Self.identify], bucket: TestBucket())
    let workspace = shared.workspace
    try shared.put(0..<2)
    try workspace.json("run")
    let ids = Set(try workspace.assets().compactMap { $0["id"]?.string })
    // As in a backup that lacks it, without what follows from it.
    try shared.database.execute(
      """
      SET session_replication_role = replica; SET search_path = pipeline;
      CREATE TEMP TABLE lost AS SELECT id, digest FROM asset ORDER BY id LIMIT 1;
      DELETE FROM sighting WHERE asset IN (SELECT id FROM lost);
      DELETE FROM picture WHERE asset IN (SELECT id FROM lost);
      DELETE FROM member WHERE asset IN (SELECT id FROM lost);
      DELETE FROM job WHERE asset IN (SELECT id FROM lost);
      DELETE FROM ledger WHERE digest IN (SELECT digest FROM lost);
      DELETE FROM asset WHERE id IN (SELECT id FROM lost);
      DELETE FROM original WHERE digest IN (SELECT digest FROM lost)
      """)
    let found = try workspace.json("verify", exit: 3).of("problem")
    #expect(
      Set(found.map { $0["kind"]?.string }) == ["catalog-differs", "original-unrecorded"],
      "\(found)")
    #expect(
      found.contains {
        $0["message"]?.string?.contains("`pipeline rebuild-catalog` follows") == true
      })
    let repaired = try workspace.json("verify", "--repair", exit: 3)
    #expect(repaired.summary["repaired"] == 0)
    #expect(try workspace.assets().count == 1)
    try workspace.json("rebuild-catalog")
    #expect(Set(try workspace.assets().compactMap { $0["id"]?.string }) == ids)
    try workspace.expectSoundLibrary()
  }

  private func ids(_ bench: JoinedBench) throws -> Set<String> {
    Set(try bench.workspace.assets().compactMap { $0["id"]?.string })
  }

  @Test(
    "A machine that reaches only the store takes nothing, and goes on once it reaches the database")
  func onlyStore() throws {
    let bench = try JoinedBench()
    let proxy = try DatabaseProxy(to: bench.shared.address)
    try bench.add("second", [:], ["catalog": .string(proxy.address.uri)])
    let watch = try bench.startWatch()
    let second = try bench.startJoined()
    try bench.put(["before.txt"])
    try bench.wait(forFiles: 1)
    proxy.stall()
    try bench.put(["cut.txt"])
    try bench.workspace.put("of the first machine", as: "first.txt")
    // As when it was not heard of for half a minute.
    try bench.shared.database.execute(
      "UPDATE pipeline.participant SET expires_at = clock_timestamp() WHERE node = 'second'")
    try bench.shared.wait(for: "the others' work") {
      try bench.shared.count("participant WHERE node = 'second' AND state = 'expired'") == 1
        && bench.shared.count("ledger WHERE state = 'done'") == 2
    }
    #expect(try bench.workspace.files(below: "from-second") == ["cut.txt"])
    proxy.goOn()
    try bench.wait(forFiles: 3)
    #expect(
      try bench.shared.count("participant WHERE node = 'second' AND state = 'active'") == 1)
    try bench.end(second)
    try bench.end(watch)
    try bench.expectSound()
  }
}
