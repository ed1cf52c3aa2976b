import Fixtures
import Glibc
import PipelineModel
import PostgreSQL
import Testing

/// A machine that the network has lost: nobody closes its connections.
@Suite(
  "Lost packets",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: SeparateNetwork.isAvailable, "This process may make no networks"),
  .timeLimit(.minutes(5)))
struct LostPacketTests: WorkSuite {
  @Test(
    "The jobs of a machine whose packets are lost are others'; it goes on once they come through")
  func cutOff() throws {
    let network = try SeparateNetwork()
    let server = try PostgreSQLServer(network: network)
    let shared = try SharedWorkspace(stages: [SmallPlugin.stage], server: server)
    let workspace = shared.workspace
    try SmallPlugin.write(into: workspace)
    try SmallPlugin.write(into: workspace, process: Self.count(to: 5_000_000), folder: "slow")
    try shared.put(0..<1)
    try workspace.json("run")
    let address = try server.address(of: shared.address, in: network)
    try shared.configure(
      "slow.json", stages: [SmallPlugin.stage(in: "slow")], ["catalog": .string(address.uri)])
    var program = workspace.program
    program.prefix = network.prefix(.second)
    let worker = try program.start(["work", "--json", "--config", "slow.json"])
    try worker.wait(for: "its place") { try shared.count("participant WHERE verb = 'work'") == 1 }
    try shared.database.execute(Self.again)
    try worker.wait(for: "a job") { try shared.count("ledger WHERE state = 'running'") == 1 }
    try network.setLosing(true)
    let run = try workspace.program.start(["run", "--json"])
    let outcome = try run.wait(within: 150)
    #expect(try outcome.events().summary["jobsDone"] == 1, "\(outcome)")
    #expect(try shared.count("participant WHERE verb = 'work' AND state = 'expired'") == 1)
    try worker.wait(for: "its message", within: 150) {
      hasSaid("goes on when the database is back", worker)
    }
    try network.setLosing(false)
    try worker.wait(for: "its new place", within: 150) {
      try shared.count("participant WHERE verb = 'work' AND state = 'active'") == 1
    }
    try shared.expectDone(jobs: 1, attempts: 2)
    // It works again.
    try shared.database.execute(Self.again)
    try worker.wait(for: "its job") { try shared.count("attempt WHERE outcome = 'done'") == 3 }
    worker.signal(SIGTERM)
    #expect(try worker.wait(within: 30).exitCode == 143)
  }
}
