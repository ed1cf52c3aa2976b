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
}
