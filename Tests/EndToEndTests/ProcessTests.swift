import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// The lock, signals, and what is printed where.
@Suite("Processes", .timeLimit(.minutes(10)))
struct ProcessTests {
  @Test("A second instance ends at once with 11, or waits if told to")
  func secondInstance() throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": HeldRun.window]])
    try workspace.put("slow", as: "slow.txt")
    let first = try HeldRun(workspace)
    // The first one would hold the library for an hour.
    let second = try workspace.run("run", "--json")
    #expect(second.exitCode == 11)
    let error = try second.event("error")
    #expect(error["code"] == "locked")
    #expect(error["message"]?.string?.contains("process \(first.run.process)") == true)
    #expect(try workspace.run("rebuild-catalog").exitCode == 11)
    // Readers need no lock.
    #expect(try workspace.run("list").exitCode == 0)
    let third = try workspace.program.start(["run", "--wait", "5m", "--json"])
    try third.wait(for: "the open library") { third.hasOpen(workspace.library) }
    #expect(try first.finish().exitCode == 0)
    let waited = try third.wait(within: 60)
    #expect(waited.exitCode == 0)
    #expect(try waited.events().of("file") == [])
    #expect(try workspace.run("run", "--wait", "10ms").exitCode == 0)
    try workspace.expectSound()
  }

  @Test("SIGTERM while it waits ends it with 143, the file untouched", arguments: [15, 2])
  func terminationWhileWaiting(signal: Int32) throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "1h"]])
    try workspace.put("waiting", as: "a.txt")
    let run = try workspace.program.start(["run"])
    try workspace.waitForHolder(run)
    run.signal(signal)
    let outcome = try run.wait(within: 10)
    #expect(outcome.exitCode == 128 + signal)
    #expect(try workspace.files(below: "inbox") == ["a.txt"])
    try workspace.configure()
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("SIGTERM in the middle of the work ends it within 10 s; the next run completes it")
  func terminationAtWork() throws {
    let workspace = try Workspace(
      stages: Workspace.stages(sizes: ["grid": 256, "preview": 1024]))
    let picture = try Pictures.jpeg(width: 1200, height: 900)
    let count = 60
    // Bytes behind the end of a JPEG make another file of the same picture.
    for index in 0..<count {
      try workspace.put(picture + Array("\(index)".utf8), as: BytePath("\(index).jpg"))
    }
    let run = try workspace.program.start(["run"])
    try run.wait(for: "ten originals") {
      try workspace.files(below: "library/originals").count >= 10
    }
    run.signal(SIGTERM)
    let outcome = try run.wait(within: 10)
    #expect(outcome.exitCode == 143)
    #expect(!outcome.errors.contains("failed"), "\(outcome.errors)")
    #expect(try workspace.json("failed") == [])
    try workspace.json("run")
    let assets = try workspace.assets()
    #expect(assets.count == count)
    #expect(assets.allSatisfy { $0["state"] == "done" && $0["renditions"]?.array?.count == 2 })
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.expectSound()
  }

  @Test("Off a terminal a run in which all is well prints nothing")
  func silence() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 120, height: 90), as: "a.jpg")
    try workspace.put("text", as: "b.txt")
    for _ in 0..<2 {
      let outcome = try workspace.run("run")
      #expect(outcome.exitCode == 0 && outcome.output == "" && outcome.errors == "")
    }
    #expect(try workspace.run("verify").output == "")
  }

  @Test("A reader that goes away is no error", arguments: ["list", "status", "run", "config"])
  func brokenPipe(verb: String) throws {
    let workspace = try Workspace()
    for index in 0..<20 { try workspace.put("file \(index)", as: BytePath("\(index)")) }
    try workspace.json("run")
    try workspace.put("another", as: "another")
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    #expect(ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
    close(ends[0])
    workspace.program.output = ends[1]
    let words: [BytePath] = verb == "config" ? ["config", "schema"] : [BytePath(verb), "--json"]
    let outcome = try workspace.program.run(words)
    close(ends[1])
    workspace.program.output = nil
    #expect(outcome.signal == nil && outcome.errors == "")
    #expect(outcome.exitCode == 0)
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("Nothing is written into the folder that the program is started in")
  func workingFolder() throws {
    let workspace = try Workspace()
    let elsewhere = try TemporaryFolder()
    workspace.program.folder = elsewhere.path
    try workspace.put("text", as: "a.txt")
    let configuration = workspace.root.appending("pipeline.json")
    #expect(try workspace.run("--config", configuration, "run").exitCode == 0)
    workspace.program.environment["PIPELINE_CONFIG"] = configuration.description
    #expect(try workspace.assets().count == 1)
    #expect(try workspace.files(below: elsewhere.path) == [])
    try workspace.expectSound()
  }
}
