import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What is said of limits, and what holds when the machine gives no more.
@Suite("Limits of stages", .timeLimit(.minutes(3)))
struct StageLimitTests {
  private let workspace: Workspace

  init() throws {
    workspace = try Workspace(stages: [SmallPlugin.stage])
    try workspace.put("one", as: "a.txt")
  }

  @Test("The first run says which limits can't be held here, whoever reads it, and no later one")
  func firstRun() throws {
    try SmallPlugin.write(into: workspace)
    let doctor = try workspace.run("doctor").output
    let areHeld = doctor.contains("The kernel holds workers to memory")
    let sentence = "Not all limits of stages can be held here."
    // Who wants to hear nothing has not been told.
    #expect(try !workspace.run("run", "--quiet").errors.contains(sentence))
    let first = try workspace.run("run").errors
    #expect(first.contains(sentence) == !areHeld, "\(first)")
    #expect(first.contains("Without a control group") == !areHeld, "\(first)")
    #expect(try !workspace.run("run").errors.contains(sentence))
  }

  @Test("Who is ended at a limit is told which setting it is")
  func settings() throws {
    try SmallPlugin.write(into: workspace, process: "read -r line")
    var stage = SmallPlugin.stage.object ?? [:]
    stage["timeout"] = "300ms"
    try workspace.configure(stages: [.object(stage)])
    try workspace.json("run", exit: 3)
    let failures = try workspace.json("failed").of("failure")
    #expect(
      failures.first?["reason"]
        == "It was ended: it may take 300ms at most. For more, set limits.time of its stage.")
  }

  @Test(
    "SIGTERM is answered while no thread can be made",
    .enabled(if: Unprivileged.isPossible, "The program's folder is not open to other users."))
  func noThreads() throws {
    try SmallPlugin.write(into: workspace, process: "read -r line")
    try Unprivileged.handOver(workspace)
    let run = try workspace.program.start(["run"])
    defer { run.signal(SIGKILL) }
    try run.wait(for: "a job at work") {
      try workspace.workers().contains { $0.1.contains("/library/work/") && hasInput($0.1) }
    }
    let number = run.process
    try Unprivileged.shell("prlimit --pid \(number) --nproc=1:1", in: workspace)
    run.signal(SIGTERM)
    #expect(try run.wait(within: 15).exitCode == 143)
    try workspace.expectNobodyLeft()
  }

  /// Whether a worker that works in a folder was given a file.
  private func hasInput(_ folder: String) -> Bool {
    let input = URL(filePath: folder).deletingLastPathComponent().appending(path: "in").path
    return (try? FileManager.default.contentsOfDirectory(atPath: input).isEmpty) == false
  }
}
