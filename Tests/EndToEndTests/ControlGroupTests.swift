import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Workers in control groups of their own, as a service of systemd has them.
@Suite(
  "Control groups", .enabled(if: Service.isPossible, Service.reason),
  .timeLimit(.minutes(5)))
final class ControlGroupTests {
  private let workspace: Workspace

  init() throws {
    workspace = try Workspace()
    try HostilePlugin.makeLibrary(in: workspace)
    try workspace.configure(
      stages: [
        [
          "name": "hostile", "plugin": "hostile", "concurrency": 2, "timeout": "20s",
          "attempts": 2, "limits": ["memory": "56MiB"],
        ]
      ], ["plugins": ["plugins"]])
  }

  private func runAsService(_ verb: BytePath, exit: Int32) throws -> BuiltProgramOutcome {
    var program = workspace.program
    program.prefix = Service.prefix
    let outcome = try program.run([verb])
    #expect(outcome.exitCode == exit, "\(outcome.output) \(outcome.errors)")
    return outcome
  }

  @Test("doctor says that the kernel holds workers to their limits")
  func doctor() throws {
    let outcome = try runAsService("doctor", exit: 0)
    #expect(outcome.output.contains("The kernel limits workers' memory"), "\(outcome.output)")
  }

  @Test("Memory that no look can see is ended by the kernel, and the others go on")
  func memoryOfTheKernel() throws {
    for index in 0..<4 { try workspace.put("harmless \(index)", as: BytePath("\(index).txt")) }
    try workspace.put("pipes", as: "deed.txt")
    _ = try runAsService("run", exit: 3)
    let failures = try workspace.json("failed").of("failure")
    #expect(failures.map { $0["name"] } == ["deed.txt"])
    #expect(failures.first?["class"] == "permanent")
    #expect(failures.first?["reason"]?.string?.contains("by the kernel") == true, "\(failures)")
    try workspace.expectSound()
    try workspace.expectNobodyLeft()
  }

  @Test("A worker is in a group of its own with its limits, which goes with it")
  func group() throws {
    try workspace.put("stubborn", as: "deed.txt")
    var program = workspace.program
    program.prefix = Service.prefix
    let run = try program.start(["run"])
    defer { run.signal(SIGKILL) }
    let worker = try #require(try workerGroup())
    #expect(try read(worker, "memory.max") == "\(56 << 20)")
    #expect(try read(worker, "memory.oom.group") == "1")
    #expect(try read(worker, "pids.max") == "513")
    let whole = URL(filePath: worker).deletingLastPathComponent().path
    #expect(try !read(whole + "/program", "cgroup.procs").isEmpty)
    #expect(try read(whole, "cgroup.procs").isEmpty)
    #expect(try run.wait(within: 60).exitCode == 3)
    #expect(!FileManager.default.fileExists(atPath: worker))
  }

  /// The group of a worker that is at work on the file of this workspace.
  private func workerGroup() throws -> String? {
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      for (process, _) in try workspace.workers() {
        let text = try? String(contentsOfFile: "/proc/\(process)/cgroup", encoding: .utf8)
        let path = text?.split(separator: "\n").first { $0.hasPrefix("0::/") }?.dropFirst(3)
        if let path, path.contains("/worker-") { return "/sys/fs/cgroup" + path }
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
    return nil
  }

  private func read(_ folder: String, _ name: String) throws -> String {
    try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
