import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// A library whose catalog is in PostgreSQL, on which several processes work.
final class SharedWorkspace {
  let workspace: Workspace
  let address: DatabaseLocation
  /// A connection for looking, and for what only a test does.
  private(set) var database: PostgreSQLConnection

  /// - Parameters:
  ///   - stages: of the library.
  ///   - server: by default that of all tests.
  init(
    stages: JSONValue, bucket: TestBucket? = nil, server: PostgreSQLServer? = nil
  ) throws {
    address = try (server ?? PostgreSQLServer.shared).makeDatabase()
    workspace = try Workspace(stages: stages, bucket: bucket, database: address)
    database = try PostgreSQLConnection(address, applicationName: "tests")
  }

  deinit { database.close() }

  /// Connects once more, after a server has ended its connections.
  func reconnect() throws {
    database.close()
    database = try PostgreSQLConnection(address, applicationName: "tests")
  }

  /// Puts text files into the inbox.
  func put(_ numbers: Range<Int>) throws {
    for number in numbers { try workspace.put("text \(number)", as: BytePath("\(number).txt")) }
  }

  /// Writes a configuration of another process.
  func configure(
    _ name: BytePath, library: String = "library", stages: JSONValue,
    _ members: [String: JSONValue] = [:]
  ) throws {
    var all: [String: JSONValue] = [
      "library": .string(library), "catalog": .string(address.uri), "stages": stages,
    ]
    if let bucket = workspace.bucket { all["originals"] = .string(bucket.location) }
    all.merge(members) { $1 }
    try workspace.write(Array(JSONText.encodePretty(JSONValue.object(all)).utf8), to: name)
  }

  /// Starts a process beside.
  func startWork(_ configuration: BytePath = "pipeline.json") throws -> BuiltProgramRun {
    try workspace.program.start(["work", "--json", "--config", configuration])
  }

  /// Stops a process by `SIGSTOP` while it changes nothing, so that others can go on.
  ///
  /// One that is stopped within a transaction makes all others wait until it is taken for gone.
  func stop(_ run: BuiltProgramRun) throws {
    while true {
      try run.stop()
      let moment = try database.first(
        "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")
      let end = ContinuousClock.now + .seconds(2)
      while ContinuousClock.now < end {
        if try openChanges(since: moment) == 0 { return }
        usleep(10_000)
      }
      run.signal(SIGCONT)
      usleep(10_000)
    }
  }

  /// How many transactions that change something, or wait to, have been open since a moment, in microseconds.
  private func openChanges(since moment: Int64) throws -> Int64 {
    try database.first(
      """
      SELECT count(*) FROM pg_locks AS turn JOIN pg_stat_activity AS activity ON activity.pid = turn.pid
      WHERE turn.locktype = 'advisory' AND turn.objid = 2 AND turn.objsubid = 2
        AND turn.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND extract(epoch FROM activity.xact_start) * 1000000 <= \(moment)
      """)
  }

  func count(_ table: String) throws -> Int64 {
    try database.first("SELECT count(*) FROM pipeline.\(table)")
  }

  /// Waits for a condition, whatever runs.
  func wait(
    for what: String, within seconds: Double = 90, _ location: SourceLocation = #_sourceLocation,
    until isSo: () throws -> Bool
  ) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isSo() {
      try #require(ContinuousClock.now < end, "\(what) did not come", sourceLocation: location)
      usleep(10_000)
    }
  }

  /// Compares what must be true once nothing works any more: each job was done as often as it was due, and the counters
  /// are right.
  func expectDone(jobs: Int64, attempts: Int = 1, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    #expect(try count("ledger") == jobs, sourceLocation: location)
    #expect(try count("ledger WHERE state <> 'done'") == 0, sourceLocation: location)
    #expect(try count("attempt WHERE ended_at IS NULL") == 0, sourceLocation: location)
    let exact = """
      (SELECT ledger FROM pipeline.attempt WHERE outcome = 'done' GROUP BY ledger HAVING count(*) = \(attempts))
        AS exact
      """
    #expect(
      try database.first("SELECT count(*) FROM \(exact)") == jobs, sourceLocation: location)
    let status = try workspace.json("status").of("status").first
    let states = status?["jobs"]?.object?.values.compactMap { $0["done"]?.integer } ?? []
    #expect(states.reduce(0, +) == Int(jobs), sourceLocation: location)
    for (table, key) in [
      ("asset", "assets"), ("original", "originals"), ("rendition", "renditions"),
    ] {
      let counted = try count(table)
      #expect(status?[key]?.integer == Int(counted), "\(key)", sourceLocation: location)
    }
    #expect(try workspace.json("verify").summary["problems"] == 0, sourceLocation: location)
  }
}
