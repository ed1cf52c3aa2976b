import Files
import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// What becomes of a library when the server of its catalog fails.
@Suite(
  "Faults of a catalog's server",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseFaultTests {
  /// SQL for how many sessions of the database wait for a lock.
  private static let waits = """
    SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()
    """

  private func put(_ count: Int, in workspace: Workspace, from first: Int = 0) throws {
    for number in first..<first + count {
      try workspace.put(
        try Pictures.jpeg(width: 80 + number, height: 60), as: BytePath("\(number).jpg"))
    }
  }

  @Test(
    "A watch goes on by itself when the server was restarted; nothing is lost, or done twice",
    arguments: [PostgreSQLServer.Stop.fast, .immediate])
  func restart(_ manner: PostgreSQLServer.Stop) throws {
    let server = try PostgreSQLServer()
    let address = try server.makeDatabase()
    let workspace = try Workspace(["catalog": .string(address.uri)])
    try put(2, in: workspace)
    let run = try workspace.program.start(["watch", "--json"])
    func waitForImports(_ count: Int) throws {
      try run.wait(for: "\(count) imports", within: 90) {
        try run.eventsSoFar().filter { $0["outcome"] == "imported" }.count == count
      }
    }
    try waitForImports(2)
    // While it works on more of them.
    try put(20, in: workspace, from: 2)
    try server.stop(manner)
    try put(2, in: workspace, from: 22)
    try server.start()
    try waitForImports(24)
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    func count(_ table: String) throws -> Int64 {
      try connection.first("SELECT count(*) FROM pipeline.\(table)")
    }
    try run.wait(for: "the stages", within: 90) {
      try count("ledger WHERE state <> 'done'") == 0
    }
    run.signal(SIGTERM)
    #expect(try run.wait(within: 30).exitCode == 143)
    #expect(try count("asset") == 24)
    #expect(try count("attempt WHERE ended_at IS NULL") == 0)
    let doubles = """
      (SELECT ledger FROM pipeline.attempt WHERE outcome = 'done' GROUP BY ledger
        HAVING count(*) > 1) AS doubles
      """
    #expect(
      try connection.first("SELECT count(*) FROM \(doubles)") == 0,
      "A job was committed twice.")
    #expect(try workspace.files(below: "inbox").isEmpty)
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  /// Waits for the end of a program that was told to; it says why before it would have to be ended at once.
  private func expectOrderlyEnd(
    of run: BuiltProgramRun, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try run.wait(within: 30)
    let text = outcome.output + outcome.errors
    #expect(text.contains("not answer"), "\(outcome)", sourceLocation: location)
  }

  @Test("A program whose server does not answer ends by a signal, and says why")
  func stalled() throws {
    let proxy = try DatabaseProxy(to: try PostgreSQLServer.shared.makeDatabase())
    let workspace = try Workspace(["catalog": .string(proxy.address.uri)])
    try put(2, in: workspace)
    let run = try workspace.program.start(["watch", "--json"])
    try run.wait(for: "imports", within: 90) {
      try run.eventsSoFar().filter { $0["outcome"] == "imported" }.count == 2
    }
    proxy.stall()
    try put(2, in: workspace, from: 2)
    try run.wait(for: "a statement without an answer", within: 90) { proxy.withheldCount > 0 }
    run.signal(SIGTERM)
    try expectOrderlyEnd(of: run)
  }

  /// A run that waits for a table that another session has locked.
  private struct LockedRun {
    let workspace: Workspace
    let address: DatabaseLocation
    let run: BuiltProgramRun
    /// The session that has the lock.
    let holder: PostgreSQLConnection
  }

  private func startLockedRun() throws -> LockedRun {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let workspace = try Workspace(["catalog": .string(address.uri)])
    try put(1, in: workspace)
    try workspace.json("run")
    let holder = try PostgreSQLConnection(address, applicationName: "psql")
    try holder.execute("BEGIN; LOCK TABLE pipeline.asset IN ACCESS EXCLUSIVE MODE")
    try put(1, in: workspace, from: 1)
    let run = try workspace.program.start(["run", "--json"])
    try run.wait(for: "a wait for the lock", within: 90) {
      try holder.first(Self.waits) > 0
    }
    return LockedRun(workspace: workspace, address: address, run: run, holder: holder)
  }

  @Test("A lock that another session holds is not waited for after a signal")
  func lock() throws {
    let locked = try startLockedRun()
    defer { locked.holder.close() }
    locked.run.signal(SIGTERM)
    try expectOrderlyEnd(of: locked.run)
    try locked.holder.execute("ROLLBACK")
    #expect(try locked.workspace.json("run").summary["imported"] == 1)
    #expect(try locked.workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A program that is killed while it waits for a lock keeps no other from the library")
  func killedWhileWaiting() throws {
    let locked = try startLockedRun()
    defer { locked.holder.close() }
    locked.run.signal(SIGKILL)
    _ = try locked.run.wait(within: 30)
    // They would wait for the lock for a minute. In a transaction, the list of sessions stays as it was first seen.
    let list = try PostgreSQLConnection(locked.address, applicationName: "psql")
    defer { list.close() }
    let sessions =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'pipeline/%'"
    let end = ContinuousClock.now + .seconds(30)
    while try list.first(sessions) > 0, ContinuousClock.now < end { usleep(2000) }
    #expect(try list.first(sessions) == 0)
    try locked.holder.execute("ROLLBACK")
    #expect(try locked.workspace.json("run").summary["imported"] == 1)
    #expect(try locked.workspace.json("verify").summary["problems"] == 0)
  }

  @Test("A program that is killed while it makes or updates a catalog leaves it as it was")
  func killedUpdate() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let workspace = try Workspace(["catalog": .string(address.uri)])
    let holder = try PostgreSQLConnection(address, applicationName: "psql")
    defer { holder.close() }
    func kill(while lock: String) throws {
      try holder.execute("BEGIN; \(lock)")
      let run = try workspace.program.start(["run", "--json"])
      try run.wait(for: "a wait for the lock") { try holder.first(Self.waits) > 0 }
      run.signal(SIGKILL)
      _ = try run.wait(within: 30)
      try holder.execute("ROLLBACK")
      let gone =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pipeline/%'"
        + " AND datname = current_database()"
      let end = ContinuousClock.now + .seconds(30)
      while try holder.first(gone) > 0 {
        try #require(ContinuousClock.now < end)
        usleep(2000)
      }
    }
    try put(1, in: workspace)
    // Another session makes a schema of that name, and has not committed it.
    try kill(while: "CREATE SCHEMA pipeline")
    #expect(
      try holder.first("SELECT count(*) FROM pg_namespace WHERE nspname = 'pipeline'") == 0)
    try workspace.json("run")
    for former in [
      FormerSchema.version1, FormerSchema.version2, FormerSchema.version3, FormerSchema.version4,
    ] {
      let version = "SELECT version FROM pipeline.schema_version"
      let now = try holder.first(version)
      try holder.execute(former)
      let before = try holder.first(version)
      #expect(before < now)
      try put(1, in: workspace, from: Int(before))
      try kill(while: "LOCK TABLE pipeline.original IN ACCESS EXCLUSIVE MODE")
      #expect(try holder.first(version) == before)
      #expect(try workspace.json("run").summary["imported"] == 1)
      #expect(try holder.first(version) == now)
    }
    #expect(try workspace.json("verify").summary["problems"] == 0)
  }

  @Test("What the server remarks while connecting is not said")
  func notices() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    let name = try #require(address.uri.split(separator: "/").last?.split(separator: "?").first)
    try connection.execute("ALTER DATABASE \(name) SET default_tablespace = 'nosuch'")
    let workspace = try Workspace(["catalog": .string(address.uri)])
    try put(1, in: workspace)
    let outcome = try workspace.run("run", "-q")
    #expect(outcome.exitCode == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
  }

  @Test("A wrong password is told, with where it came from, and is not shown")
  func wrongPassword() throws {
    let folder = try TemporaryFolder()
    let rules = folder.appending("rules")
    try Descriptor.openFolder(folder.path).writeDurably(
      Array("local all pipeline trust\nlocal all anna scram-sha-256\n".utf8), as: "rules")
    try #require(chmod(folder.path.description, 0o711) == 0 && chmod(rules.description, 0o644) == 0)
    let server = try PostgreSQLServer(settings: ["fsync=off", "hba_file=\(rules)"])
    let address = try server.makeDatabase()
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    try connection.execute("CREATE ROLE anna LOGIN PASSWORD 'right'; GRANT pipeline TO anna")
    let other = address.uri.replacing("user=pipeline", with: "user=anna")
    let workspace = try Workspace(["catalog": .string(other)])
    let elsewhere = try Workspace([
      "catalog": .string(other.replacing("postgresql:///test", with: "postgresql:///none"))
    ])
    try workspace.put("a", as: "a.txt")
    var outcome = try workspace.run("run")
    #expect(outcome.exitCode == 1 && outcome.errors.contains("PGPASSFILE"), "\(outcome.errors)")
    for (password, code) in [("wrong-one", 1), ("right", 0)] {
      try workspace.write(Array("*:*:*:anna:\(password)\n".utf8), to: "passwords")
      let file = workspace.root.appending("passwords").description
      try #require(chmod(file, 0o600) == 0)
      workspace.program.environment["PGPASSFILE"] = file
      outcome = try workspace.run("run")
      #expect(outcome.exitCode == Int32(code), "\(outcome.errors)")
      #expect(!outcome.errors.contains(password))
      #expect(code == 0 || outcome.errors.contains("PGPASSFILE"), "\(outcome.errors)")
      #expect(workspace.exists("inbox/a.txt") == (code == 1))
      // With the right one, it is the database that is missing.
      elsewhere.program.environment["PGPASSFILE"] = file
      outcome = try elsewhere.run("run")
      #expect(outcome.errors.contains("PGPASSFILE") == (code == 1), "\(outcome.errors)")
    }
  }

  @Test("At a server that may only be read, nothing is imported, and what is there is shown")
  func readOnly() throws {
    let server = try PostgreSQLServer(settings: [])
    let address = try server.makeDatabase()
    let workspace = try Workspace(["catalog": .string(address.uri)])
    try workspace.put("a", as: "a.txt")
    try workspace.json("run")
    let connection = try PostgreSQLConnection(address, applicationName: "tests")
    defer { connection.close() }
    try connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    try connection.execute("SELECT pg_reload_conf()")
    try workspace.put("b", as: "b.txt")
    let outcome = try workspace.run("run")
    #expect(
      outcome.exitCode == 1 && outcome.errors.contains("is a standby, or read-only"),
      "\(outcome.errors)")
    #expect(workspace.exists("inbox/b.txt"))
    #expect(try workspace.assets().count == 1)
    #expect(try workspace.run("doctor").output.contains("read-only"))
  }
}
