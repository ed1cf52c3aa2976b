import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// A library and a machine that joins it.
final class JoinedBench {
  static let identify: JSONValue = [
    "name": "identify", "plugin": "identify", "isolation": "none",
  ]

  let shared: SharedWorkspace
  var workspace: Workspace { shared.workspace }
  private let stages: JSONValue
  /// The folders of machines without the library's own.
  private var machines: Set<String> = []

  /// - Parameters:
  ///   - stages: of all machines.
  ///   - endpoint: the way to the bucket, such as a proxy.
  ///   - prepare: makes what is needed before the first run, such as a plugin.
  init(
    stages: JSONValue = [JoinedBench.identify], server: PostgreSQLServer? = nil,
    through endpoint: String? = nil, prepare: (Workspace) throws -> Void = { _ in }
  ) throws {
    self.stages = stages
    shared = try SharedWorkspace(
      stages: stages, bucket: TestBucket(through: endpoint), server: server)
    try prepare(workspace)
    try workspace.json("run")
    try add("second")
  }

  /// Makes a machine's folder of files and its configuration.
  ///
  /// - Parameter members: of the configuration besides.
  func add(
    _ machine: String, _ source: [String: JSONValue] = [:], _ members: [String: JSONValue] = [:]
  ) throws {
    machines.insert(machine)
    let folder = BytePath("from-\(machine)")
    try workspace.makeFolder(workspace.root.appending(folder))
    let standard: [String: JSONValue] = [
      "path": .string(folder.description), "settle": "0ms", "mode": "move",
    ]
    let all: [String: JSONValue] = [
      "node": ["name": .string(machine), "joins": true],
      "sources": [.object(standard.merging(source) { $1 })],
    ]
    try shared.configure(
      BytePath("\(machine).json"), library: machine, stages: stages, all.merging(members) { $1 })
  }

  func put(_ names: [String], on machine: String = "second", text: String? = nil) throws {
    let folder = workspace.root.appending("from-\(machine)")
    for name in names {
      try workspace.put(text ?? "\(machine) \(name)", as: BytePath(name), in: folder)
    }
  }

  /// Starts the process that records.
  func startWatch(_ program: BuiltProgram? = nil) throws -> BuiltProgramRun {
    let watch = try (program ?? workspace.program).start(["watch", "--json"])
    try watch.wait(for: "its place") {
      try shared.count("participant WHERE taker AND state = 'active'") == 1
    }
    return watch
  }

  /// Starts a process of a machine that joins.
  func startJoined(
    _ machine: String = "second", _ program: BuiltProgram? = nil
  ) throws -> BuiltProgramRun {
    let joined = try (program ?? workspace.program).start([
      "watch", "--json", "--config", BytePath("\(machine).json"),
    ])
    try joined.wait(for: "its place") {
      try shared.count("participant WHERE node = '\(machine)' AND state = 'active'") == 1
    }
    return joined
  }

  /// Starts a process on a third machine that only works.
  func startWork(_ program: BuiltProgram? = nil) throws -> BuiltProgramRun {
    machines.insert("worker")
    try shared.configure("worker.json", library: "worker", stages: stages)
    let worker = try (program ?? workspace.program).start([
      "work", "--json", "--config", "worker.json",
    ])
    try worker.wait(for: "its place") {
      try shared.count("participant WHERE verb = 'work' AND state = 'active'") > 0
    }
    return worker
  }

  func end(_ run: BuiltProgramRun, at location: SourceLocation = #_sourceLocation) throws {
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 30)
    #expect(outcome.exitCode == 143, "\(outcome)", sourceLocation: location)
  }

  @discardableResult
  func run(
    _ machine: String = "second", exit: Int32 = 0, at location: SourceLocation = #_sourceLocation
  ) throws -> [JSONValue] {
    try workspace.json("run", "--config", BytePath("\(machine).json"), exit: exit, at: location)
  }

  /// Waits until so many files are recorded, all jobs are done, and nothing is left in the folder of the second machine.
  func wait(
    forFiles count: Int64, within seconds: Double = 120,
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    try shared.wait(for: "\(count) files", within: seconds, location) {
      try shared.count("asset") == count
        && shared.count("ledger WHERE state NOT IN ('done', 'failed', 'skipped')") == 0
        && workspace.files(below: "from-second").isEmpty
        && workspace.files(below: "inbox").isEmpty
    }
  }

  /// What must be true once nobody works any more.
  func expectSound(at location: SourceLocation = #_sourceLocation) throws {
    try workspace.expectSound(at: location)
    for machine in machines {
      for folder in ["incoming", "work"] {
        // Each process locks a place there, which stays for the next one, as does the socket of one that was killed.
        let left = try workspace.files(below: BytePath("\(machine)/\(folder)")).filter {
          $0.lastComponent != "lock" && $0.lastComponent != "control"
        }
        #expect(left == [], "\(machine)/\(folder)", sourceLocation: location)
      }
    }
    // One asset for each content.
    #expect(try shared.count("asset") == shared.count("original"), sourceLocation: location)
    #expect(try shared.count("request") == 0, sourceLocation: location)
    #expect(
      try shared.count("attempt WHERE ended_at IS NULL") == 0, sourceLocation: location)
  }
}
