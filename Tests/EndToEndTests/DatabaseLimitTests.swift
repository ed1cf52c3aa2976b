import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Synchronization
import Testing

/// What a server refuses that is there: it has no room, no connection, or no time for more.
@Suite(
  "A database at its limits",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct DatabaseLimitTests {
  private static let identify: JSONValue = [
    ["name": "identify", "plugin": "identify", "isolation": "none"]
  ]

  private func put(_ numbers: Range<Int>, into workspace: Workspace, size: Int = 10) throws {
    for number in numbers {
      try workspace.put(
        "\(number) " + String(repeating: "x", count: size), as: BytePath("\(number).txt"))
    }
  }

  /// Asserts that all is there once, and that what was refused was not half done.
  private func expectAll(_ count: Int, in workspace: Workspace) throws {
    try workspace.json("run")
    #expect(try workspace.files(below: "inbox").isEmpty)
    #expect(try workspace.assets().count == count)
    try workspace.expectSoundLibrary()
    #expect(try workspace.json("run").summary["jobsDone"] == 0)
  }

  @Test(
    "A database without room is named, nothing is half recorded, and all goes on when there is some"
  )
  func disk() throws {
    let server = try PostgreSQLServer(smallDisk: "40m")
    let address = try server.makeDatabase(server.onSmallDisk())
    let workspace = try Workspace(stages: Self.identify, ["catalog": .string(address.uri)])
    try put(0..<1, into: workspace)
    try workspace.json("run")
    try server.fillSmallDisk(true)
    try put(1..<200, into: workspace)
    let run = try workspace.run("run")
    #expect(run.exitCode == 1 && run.errors.contains("No space left on device"), "\(run)")
    #expect(run.errors.split(separator: "\n").count < 8, "\(run.errors)")
    // What has been imported is in the manifest; the rest is in its folder.
    try server.fillSmallDisk(false)
    let watch = try workspace.program.start(["watch", "--json"])
    let database = try PostgreSQLConnection(address, applicationName: "tests")
    defer { database.close() }
    func waitForAll(_ count: Int64) throws {
      try watch.wait(for: "\(count) files", within: 120) {
        try database.first("SELECT count(*) FROM pipeline.ledger WHERE state = 'done'") == count
      }
    }
    try waitForAll(200)
    try server.fillSmallDisk(true)
    try put(200..<400, into: workspace)
    try watch.wait(for: "its pause", within: 120) {
      String(decoding: watch.outputSoFar + watch.errorsSoFar, as: UTF8.self)
        .contains("goes on when the database is back")
    }
    try server.fillSmallDisk(false)
    try waitForAll(400)
    watch.signal(SIGTERM)
    let end = try watch.wait(within: 60)
    #expect(end.exitCode == 143 && end.errors.split(separator: "\n").count < 8, "\(end)")
    try expectAll(400, in: workspace)
  }

  @Test("A server without a free connection is named, and tried again by the next run")
  func connections() throws {
    let server = try PostgreSQLServer(settings: [
      "fsync=off", "max_connections=8", "superuser_reserved_connections=1", "max_wal_senders=0",
    ])
    let address = try server.makeDatabase()
    let workspace = try Workspace(stages: Self.identify, ["catalog": .string(address.uri)])
    try put(0..<2, into: workspace)
    try workspace.json("run")
    var held = [try PostgreSQLConnection(address, applicationName: "tests")]
    // A program that has ended leaves sessions for a moment.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    while try held[0].first(sessions) > 1 { usleep(10_000) }
    while let connection = try? PostgreSQLConnection(address, applicationName: "tests") {
      held.append(connection)
    }
    try put(2..<4, into: workspace)
    for verb in ["run", "list", "doctor"] as [BytePath] {
      let outcome = try workspace.run(verb)
      let said = outcome.output + outcome.errors
      #expect(outcome.exitCode != 0 && said.contains("too many clients"), "\(verb): \(outcome)")
    }
    #expect(try workspace.files(below: "inbox").count == 2)
    for connection in held { connection.close() }
    try expectAll(4, in: workspace)
  }

  @Test("Limits of time that the database sets are not those of the program")
  func time() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let database = try PostgreSQLConnection(address, applicationName: "tests")
    defer { database.close() }
    let name: String = try database.text("SELECT current_database()")
    let workspace = try Workspace(stages: Self.identify, ["catalog": .string(address.uri)])
    try put(0..<2, into: workspace)
    try workspace.json("run")
    for limit in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
      try database.execute("ALTER DATABASE \(name) SET \(limit) = '300ms'")
    }
    try database.execute("BEGIN; LOCK TABLE pipeline.asset IN EXCLUSIVE MODE")
    try put(2..<4, into: workspace)
    let run = try workspace.program.start(["run", "--json"])
    // A transaction sees one state of all sessions.
    let other = try PostgreSQLConnection(address, applicationName: "tests")
    defer { other.close() }
    let waits =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    let start = ContinuousClock.now
    try run.wait(for: "waiting for longer than that") {
      try ContinuousClock.now > start + .seconds(2) && other.first(waits) > 0
    }
    try database.execute("ROLLBACK")
    let outcome = try run.wait(within: 60)
    #expect(outcome.exitCode == 0, "\(outcome)")
    try expectAll(4, in: workspace)
  }

  @Test("A transaction that another program keeps open hinders nothing")
  func snapshot() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let workspace = try Workspace(stages: Self.identify, ["catalog": .string(address.uri)])
    try put(0..<2, into: workspace)
    try workspace.json("run")
    let database = try PostgreSQLConnection(address, applicationName: "a report")
    defer { database.close() }
    try database.execute(
      "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pipeline.asset")
    try put(2..<40, into: workspace)
    try expectAll(40, in: workspace)
    let seen: Int64 = try database.first("SELECT count(*) FROM pipeline.asset")
    #expect(seen == 2)
    try database.execute("ROLLBACK")
  }
}
