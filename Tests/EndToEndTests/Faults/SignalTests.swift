import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Signals while the program is at work, and kills at random moments.
@Suite("Faults: signals", .timeLimit(.minutes(60)), .seeded)
struct SignalTests {
  @Test(
    "SIGTERM and Ctrl-C end the work in hand within 10 s, and the lock is free",
    arguments: [SIGTERM, SIGINT])
  func first(signal: Int32) throws {
    let workspace = try Workspace()
    let picture = try Pictures.jpeg(width: 800, height: 600)
    for index in 0..<30 {
      try workspace.put(picture + Array("\(index)".utf8), as: BytePath("\(index).jpg"))
    }
    let run = try workspace.program.start(["run"])
    try run.wait(for: "five originals") {
      try workspace.files(below: "library/originals").count >= 5
    }
    run.signal(signal)
    #expect(try run.wait(within: 10).exitCode == 128 + signal)
    #expect(try workspace.run("run").exitCode == 0)
    #expect(try workspace.assets().count == 30)
    try workspace.expectSound()
  }

  @Test("A second signal ends the program at once", arguments: [SIGTERM, SIGINT])
  func second(signal: Int32) throws {
    let shimFolder = try TemporaryFolder()
    let shim = try SystemShim(in: shimFolder.path)
    let (workspace, _) = try FaultScenario.move.makeWorkspace()
    let clean = workspace.program.environment
    // The work in hand never ends: the intents of the first group are being flushed.
    workspace.program.environment.merge(shim.endlessSyncs(of: "/manifest/0")) { $1 }
    let run = try workspace.program.start(["run"])
    try run.wait(for: "the manifest") { try !workspace.files(below: "library/manifest").isEmpty }
    // One that comes soon after the first is the same one again.
    let end = ContinuousClock.now + .seconds(30)
    while run.isRunning, ContinuousClock.now < end {
      run.signal(signal)
      usleep(100_000)
    }
    #expect(try run.wait(within: 1).exitCode == 128 + signal)
    workspace.program.environment = clean
    #expect(try workspace.run("run").exitCode == 0)
    #expect(try workspace.assets().count == 4)
    try workspace.expectSound()
  }

  @Test("Kills at random moments lose nothing")
  func randomKills() async throws {
    let environment = ProcessInfo.processInfo.environment
    let usual = FaultSelection.isFull ? 300 : 12
    let count = environment["PIPELINE_KILLS"].flatMap(Int.init) ?? usual
    let bench = try RandomKills()
    FaultSelection.progress("random kills: seed \(RunSeed.value), count \(count)")
    try await FaultSelection.forEach("random kills", Array(0..<count), width: count > 50 ? 2 : 1) {
      try bench.kill(number: $0)
    }
    let (killed, breaches) = bench.result
    FaultSelection.progress(
      "random kills: seed \(RunSeed.value), \(count) runs, \(killed) killed at work, "
        + "\(breaches) breaches")
    #expect(breaches == 0)
  }
}
