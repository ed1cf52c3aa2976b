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

  @Test("The first run says which limits can't be held here, to who reads it, and no later one")
  func firstRun() throws {
    try SmallPlugin.write(into: workspace)
    let doctor = try workspace.run("doctor").output
    let areHeld = doctor.contains("The kernel limits workers' memory")
    let sentence = "Not all limits of stages can be enforced here."
    // Who does not read it has not been told: cron would mail it.
    #expect(try workspace.run("run").errors == "")
    let first = try workspace.run("run", "-v").errors
    #expect(first.contains(sentence) == !areHeld, "\(first)")
    #expect(first.contains("Without a control group") == !areHeld, "\(first)")
    #expect(try !workspace.run("run", "-v").errors.contains(sentence))
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
    "A drawing that would be drawn for hours fails for good: after two seconds, or at its stage's limit",
    arguments: [(nil, "2s"), ("500ms", "500ms"), ("3s", "3s")] as [(JSONValue?, String)])
  func endlessDrawing(limit: JSONValue?, told: String) throws {
    let octaves = Pictures.svg(
      "<filter id=\"f\"><feTurbulence baseFrequency=\"0.05\" numOctaves=\"100000000\"/></filter>"
        + "<rect width=\"100\" height=\"100\" filter=\"url(#f)\"/>",
      size: "width=\"100\" height=\"100\"")
    try workspace.put(octaves, as: "endless.svg")
    try workspace.put(Pictures.svg(width: 100, height: 100), as: "plain.svg")
    var limits: [String: JSONValue] = ["memory": "1GiB"]
    limits["cpu"] = limit
    try workspace.configure(stages: Workspace.stages(thumbnails: ["limits": .object(limits)]))
    try workspace.json("run", exit: 3)
    let failures = try workspace.json("failed").of("failure")
    #expect(failures.count == 1 && failures[0]["class"] == "permanent", "\(failures)")
    #expect(
      failures[0]["reason"]?.string
        == "It was ended: it may use a processor for \(told) at most. For more, set limits.cpu of its stage."
    )
    #expect(try workspace.asset(named: "plain.svg")["renditions"]?.array?.count == 2)
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
    // As the same user, because not every root may do that to others.
    let words = Unprivileged.prefix + ["prlimit", "--pid", "\(number)", "--nproc=1:1"]
    try Unprivileged.shell(words.joined(separator: " "), in: workspace)
    run.signal(SIGTERM)
    #expect(try run.wait(within: 15).exitCode == 143)
    try workspace.expectNobodyLeft()
  }

  @Test("What a plugin keeps open from job to job counts, however quick each of them is")
  func keptFiles() throws {
    try workspace.makeFolder("keep")
    try workspace.write(Checkout.bytes(of: "Tests/Python/keep.py"), to: "keep/keep.py")
    try Unprivileged.shell("chmod 755 . keep keep/keep.py", in: workspace)
    try workspace.configure(stages: [
      [
        "name": "keep", "plugin": "keep", "command": ["keep/keep.py"], "concurrency": 1,
        "limits": ["outputBytes": "1MiB"],
      ]
    ])
    for name: BytePath in ["b.txt", "c.txt"] { try workspace.put("\(name)", as: name) }
    try workspace.json("run", exit: 3)
    let reasons = try workspace.json("failed").of("failure").compactMap { $0["reason"]?.string }
    // The second worker begins with none.
    #expect(reasons.count == 1 && reasons[0].contains("more than 1 MiB"), "\(reasons)")
  }

  /// Whether a worker that works in a folder was given a file.
  private func hasInput(_ folder: String) -> Bool {
    let input = URL(filePath: folder).deletingLastPathComponent().appending(path: "in").path
    return (try? FileManager.default.contentsOfDirectory(atPath: input).isEmpty) == false
  }
}
