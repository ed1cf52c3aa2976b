import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// How `work` begins, changes and ends.
@Suite(
  "The life of a process beside",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(10)))
struct WorkLifeTests: WorkSuite {
  @Test("Work that begins while the server is away says so once, and begins when it is there")
  func lateServer() throws {
    let server = try PostgreSQLServer()
    let shared = try SharedWorkspace(stages: [Self.identify], server: server)
    try shared.put(0..<2)
    try shared.workspace.json("run")
    try shared.database.execute(Self.again)
    try server.stop()
    let worker = try shared.startWork()
    try worker.wait(for: "its message") { hasSaid("begins when the database", worker) }
    try server.start()
    try worker.wait(for: "its jobs", within: 120) { try ended(worker) == 2 }
    worker.signal(SIGTERM)
    let end = try worker.wait(within: 30)
    #expect(end.exitCode == 143)
    #expect(end.errors.split(separator: "begins when the database").count == 2, "\(end)")
  }

  @Test(
    "On SIGHUP work reads its configuration again, and keeps the former if the new one is wrong")
  func reload() throws {
    let shared = try SharedWorkspace(stages: [Self.identify, SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try shared.put(0..<2)
    try workspace.json("run")
    try shared.configure("mine.json", stages: [Self.identify])
    let worker = try shared.startWork("mine.json")
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    try shared.database.execute(Self.again)
    try worker.wait(for: "two jobs") { try ended(worker) == 2 }
    try shared.configure("mine.json", stages: [Self.identify, SmallPlugin.stage])
    worker.signal(SIGHUP)
    try worker.wait(for: "the jobs of the new stage") { try ended(worker) == 4 }
    try workspace.write(Array("{".utf8), to: "mine.json")
    worker.signal(SIGHUP)
    try worker.wait(for: "its message") { hasSaid("old configuration stays in use", worker) }
    try shared.database.execute(Self.again)
    try worker.wait(for: "all jobs once more") { try ended(worker) == 8 }
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }

  @Test(
    "Work says once where it works, for which catalog, and on which stages; anew if that has changed"
  )
  func beginning() throws {
    let shared = try SharedWorkspace(stages: [Self.identify, SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try shared.put(0..<1)
    try workspace.json("run")
    try shared.configure("mine.json", stages: [Self.identify])
    let worker = try shared.startWork("mine.json")
    func told() throws -> [JSONValue] { try worker.eventsSoFar().of("work") }
    try worker.wait(for: "its beginning") { try told().count == 1 }
    #expect(
      try told() == [
        [
          "event": "work", "state": "begun", "library": .string(workspace.library.description),
          "catalog": .string(shared.address.uri), "stages": ["identify"],
        ]
      ])
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    let place = try shared.database.first("SELECT id FROM pipeline.participant WHERE verb = 'work'")
    worker.signal(SIGHUP)
    try worker.wait(for: "its new place") {
      try shared.count("participant WHERE verb = 'work' AND id <> \(place)") == 1
    }
    #expect(try told().count == 1)
    try shared.configure("mine.json", stages: [Self.identify, SmallPlugin.stage])
    worker.signal(SIGHUP)
    try worker.wait(for: "its new beginning") { try told().count == 2 }
    #expect(try told().last?["stages"] == ["identify", "mine"])
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143 && told().count == 2)
    // From cron it says nothing.
    let silent = try workspace.run("work", "--until-idle")
    #expect(silent.exitCode == 0 && silent.output.isEmpty && silent.errors.isEmpty, "\(silent)")
    guard Terminal.isPossible else { return }
    let shown = try Terminal.run("work --until-idle", in: workspace).output
    #expect(shown.contains("for the catalog “\(shared.address.uri)”: 2 stages (identify, mine)"))
    #expect(!shown.contains("Watching"), "\(shown)")
  }

  @Test("A process that is drained ends what it has begun, claims nothing more, and ends")
  func drain() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: Self.count(to: 300_000), folder: "slow")
    try shared.put(0..<100)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("slow.json", stages: [SmallPlugin.stage(in: "slow")])
    let worker = try shared.startWork("slow.json")
    try worker.wait(for: "a job") { try ended(worker) > 0 }
    let node = try #require(
      try workspace.json("nodes").of("node").first { $0["verb"] == "work" }?["node"]?.string)
    let nobody = try workspace.run("nodes", "drain", "nobody")
    #expect(
      nobody.exitCode == 2 && nobody.errors.contains("called “nobody”"), "\(nobody)")
    let told = try workspace.json("nodes", "drain", BytePath(node))
    #expect(told.of("draining").map { $0["process"]?.integer } == [Int(worker.process)])
    #expect(try workspace.json("nodes", "drain", BytePath(node)).of("draining").count <= 1)
    let end = try worker.wait(within: 120)
    #expect(end.exitCode == 0 && end.errors.isEmpty, "\(end)")
    let done = try end.events().summary["jobsDone"]?.integer ?? 0
    #expect(done > 0 && done < 100, "\(done) jobs were done")
    #expect(try shared.count("ledger WHERE state = 'ready' AND interruptions = 0") == 100 - done)
    #expect(try shared.count("attempt WHERE ended_at IS NULL OR outcome <> 'done'") == 0)
    #expect(try shared.count("participant WHERE verb = 'work' AND state = 'ended'") == 1)
    let former = try #require(
      try workspace.json("nodes").of("node").first { $0["verb"] == "work" }?["id"]?.string)
    let late = try workspace.run("nodes", "drain", BytePath(former))
    #expect(late.exitCode == 2 && late.errors.contains("is at work any more"), "\(late)")
    // Who has the lock can't be.
    let watch = try workspace.program.start(["watch"])
    try watch.wait(for: "its place") { try shared.count("participant WHERE verb = 'watch'") == 1 }
    let refused = try workspace.run("nodes", "drain", BytePath(node))
    #expect(refused.exitCode == 2 && refused.errors.contains("lock"), "\(refused)")
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 30).exitCode == 143)
  }

  @Test(
    "Work that is drained exits with 0 though a job has failed, so that no service starts it again")
  func drainedAfterFailure() throws {
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    let failure = #"{"outcome":"failed","failure":{"class":"permanent","reason":"no"}}"#
    try SmallPlugin.write(
      into: workspace,
      process: #"echo '{"type":"result","job":"'$job'","result":\#(failure)}'; continue"#,
      folder: "failing")
    try shared.put(0..<1)
    try workspace.json("run")
    try shared.database.execute(Self.again)
    try shared.configure("failing.json", stages: [SmallPlugin.stage(in: "failing")])
    let worker = try shared.startWork("failing.json")
    try worker.wait(for: "a failure") { try shared.count("ledger WHERE state = 'failed'") == 1 }
    let node = try #require(
      try workspace.json("nodes").of("node").first { $0["verb"] == "work" }?["node"]?.string)
    try workspace.json("nodes", "drain", BytePath(node))
    let end = try worker.wait(within: 60)
    #expect(try end.exitCode == 0 && end.events().summary["jobsFailed"] == 1, "\(end)")
  }

  @Test("Work begins anew where the server has lost what it has acknowledged")
  func lostCommits() throws {
    let shared = try SharedWorkspace(stages: [Self.identify])
    try shared.put(0..<2)
    try shared.workspace.json("run")
    let worker = try shared.startWork()
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    try shared.database.execute(Self.again)
    try worker.wait(for: "two jobs") { try ended(worker) == 2 }
    try shared.database.execute(
      """
      UPDATE pipeline.participant SET mark = 'older' WHERE verb = 'work';
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'pipeline/%'
      """)
    try worker.wait(for: "its message") { hasSaid("begins anew", worker) }
    try shared.database.execute(Self.again)
    try worker.wait(for: "two more jobs") { try ended(worker) == 4 }
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }

  @Test("A watch does what others made ready")
  func watch() throws {
    let shared = try SharedWorkspace(stages: [Self.identify, SmallPlugin.stage])
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try shared.put(0..<2)
    try workspace.json("run")
    let watch = try workspace.program.start(["watch", "--json"])
    try watch.wait(for: "its place") { try shared.count("participant WHERE verb = 'watch'") == 1 }
    try shared.configure("mine.json", stages: [SmallPlugin.stage])
    let worker = try shared.startWork("mine.json")
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    // No event of a file tells it, and it scans in five minutes.
    try shared.database.execute(Self.again)
    try watch.wait(for: "all jobs") { try shared.count("ledger WHERE state <> 'done'") == 0 }
    try shared.expectDone(jobs: 4, attempts: 2)
    for process in [worker, watch] {
      process.signal(SIGTERM)
      #expect(try process.wait(within: 30).exitCode == 143)
    }
  }

  @Test(
    "Originals are moved while nobody else reads them",
    .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)))
  func move() throws {
    let bucket = try TestBucket()
    let shared = try SharedWorkspace(stages: [Self.identify])
    let workspace = shared.workspace
    try shared.put(0..<2)
    try workspace.json("run")
    let worker = try shared.startWork()
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    workspace.program.environment.merge(bucket.environment) { $1 }
    let refused = try workspace.run("move-originals", BytePath(bucket.location))
    #expect(refused.exitCode == 11 && refused.errors.contains("pipeline work"), "\(refused)")
    #expect(try workspace.files(below: "library/originals").count == 2)
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
    let moved = try workspace.run("move-originals", BytePath(bucket.location))
    #expect(moved.exitCode == 0, "\(moved)")
    #expect(try workspace.files(below: "library/originals").isEmpty)
  }
}
