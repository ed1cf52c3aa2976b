import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// A catalog behind pgbouncer.
@Suite(
  "A pooler",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ConnectionPooler.isInstalled, "pgbouncer is not installed"),
  .timeLimit(.minutes(5)))
struct PoolerTests: WorkSuite {
  @Test("Where a pooler lends whole sessions, jobs are heard of, and all goes on after its restart")
  func session() throws {
    let shared = try SharedWorkspace(stages: [Self.identify])
    let workspace = shared.workspace
    let pooler = try ConnectionPooler(to: shared.address, .session)
    let address = try pooler.address
    try workspace.configure(stages: [Self.identify], ["catalog": .string(address.uri)])
    try shared.put(0..<3)
    try workspace.json("run")
    // `serve`, too, in its sandbox.
    #expect(try workspace.run("doctor").output.contains("A server started, entered its sandbox"))
    let worker = try workspace.program.start(["work", "--json"])
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    try shared.database.execute(Self.again)
    // Sooner than it would look by itself.
    try worker.wait(for: "its jobs", within: 25) { try ended(worker) == 3 }
    // The session that hears of jobs is the one that shows that it is there.
    let presence = """
      SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """
    let former = try shared.database.first(presence)
    try pooler.restart()
    try worker.wait(for: "its new session") {
      ![0, former].contains(try shared.database.first(presence))
    }
    try shared.database.execute(Self.again)
    try worker.wait(for: "its jobs once more", within: 25) { try ended(worker) == 6 }
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
    try shared.expectDone(jobs: 3, attempts: 3)
  }

  @Test(
    "Where shared sessions are seen only at work, it ends with the same words, and nothing is lost")
  func busyPool() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let pooler = try ConnectionPooler(
      to: address, .transaction, settings: ["server_round_robin = 1", "min_pool_size = 3"])
    // Each client gets another session from now on.
    let clients = try (0..<3).map { _ in
      try PostgreSQLConnection(try pooler.address, applicationName: "tests")
    }
    defer { for client in clients { client.close() } }
    for client in clients { try client.execute("BEGIN") }
    for client in clients { try client.execute("COMMIT") }
    let workspace = try Workspace(
      stages: [Self.identify], ["catalog": .string(try pooler.address.uri)])
    try workspace.put("text", as: "text.txt")
    let refused = try workspace.run("run")
    #expect(
      refused.exitCode == 1 && refused.errors.contains("Set pool_mode = session"), "\(refused)")
    #expect(workspace.exists("inbox/text.txt"))
  }

  @Test(
    "A pooler that has programs share sessions is refused, and told by doctor; nothing is changed")
  func transaction() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let pooler = try ConnectionPooler(to: address, .transaction)
    let workspace = try Workspace(stages: [Self.identify], ["catalog": .string(address.uri)])
    try workspace.json("run")
    try workspace.configure(
      stages: [Self.identify], ["catalog": .string(try pooler.address.uri)])
    try workspace.put("text", as: "text.txt")
    for verb in ["run", "status", "list", "serve"] as [BytePath] {
      let refused = try workspace.run(verb)
      #expect(refused.exitCode == 1, "\(refused)")
      #expect(refused.errors.contains("Set pool_mode = session"), "\(refused)")
    }
    #expect(try workspace.run("doctor").output.contains("Set pool_mode = session"))
    #expect(workspace.exists("inbox/text.txt"))
    // What was refused has left no settings in the session that the next client gets.
    let other = try PostgreSQLConnection(try pooler.address, applicationName: "tests")
    defer { other.close() }
    let path = try other.execute("SHOW search_path").text(0, 0)
    #expect(path == "\"$user\", public")
  }
}
