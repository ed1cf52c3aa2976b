import Fixtures
import Foundation
import Glibc
import PipelineModel
import PostgreSQL
import Testing

@Suite(
  "The example with three nodes",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .enabled(if: ObjectServer.isInstalled, Comment(rawValue: ObjectServer.absence)),
  .timeLimit(.minutes(5)))
struct ThreeNodesTests: WorkSuite {
  @Test("It runs three nodes that take what is dropped, and do its jobs, and ends them")
  func example() throws {
    let address = try PostgreSQLServer.shared.makeDatabase()
    let bucket = try TestBucket()
    let folder = try TemporaryFolder()
    var example = BuiltProgram(in: folder.path)
    example.program = BytePath(Checkout.root.appending(path: "Examples/three-nodes").path)
    example.environment.merge(bucket.environment) { $1 }
    example.environment["PIPELINE"] = BuiltProgram.path.description
    let run = try example.start(["nodes", BytePath(address.uri), BytePath(bucket.location)])
    let database = try PostgreSQLConnection(address, applicationName: "tests")
    defer { database.close() }
    func count(_ table: String) throws -> Int64 {
      try database.first("SELECT count(*) FROM pipeline.\(table)")
    }
    try run.wait(for: "its words") { hasSaid("Three nodes are at work", run) }
    try run.wait(for: "three nodes") { try count("participant WHERE state = 'active'") == 3 }
    let workspace = try Workspace(stages: [])
    for number in 1...12 {
      let inbox = folder.path.appending(
        BytePath(number % 2 == 0 ? "nodes/inbox" : "nodes/inbox-second"))
      let picture = try Pictures.jpeg(width: 40 + number, height: 30)
      try workspace.put(picture, as: BytePath("\(number).jpg"), in: inbox)
    }
    try run.wait(for: "all jobs") { try count("ledger WHERE state = 'done'") == 24 }
    #expect(try count("attempt WHERE outcome = 'done'") == 24)
    #expect(try bucket.files(below: "originals").count == 12)
    #expect(try count("source WHERE encode(path, 'escape') LIKE '//second/%inbox-second'") == 1)
    run.signal(SIGTERM)
    #expect(try run.wait(within: 60).exitCode == 143)
    #expect(try count("participant WHERE state IN ('active', 'draining')") == 0)
  }
}
