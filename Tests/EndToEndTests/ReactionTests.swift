import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// What the program does when a disk, a reader or a user does not go along.
@Suite("Reactions", .timeLimit(.minutes(5)))
struct ReactionTests {
  @Test("The bytes of a renamed file that can't be flushed go to a new inode", .about(.originals))
  func failedFlush() throws {
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    let workspace = try Workspace()
    try workspace.put("hello", as: "a.txt")
    let before = try inode("inbox/a.txt", in: workspace)
    workspace.program.environment.merge(
      shim.striking(.ioError, atSync: 1, of: "/incoming/")
    ) { $1 }
    #expect(try workspace.json("run").outcome("a.txt") == "imported")
    workspace.program.environment["LD_PRELOAD"] = nil
    let original = try #require(try workspace.files(below: "library/originals").first)
    #expect(
      try inode(BytePath("library/originals").appending(original), in: workspace) != before)
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.expectSound()
  }

  @Test("A fact that can't be flushed leaves no whole line behind, and nothing is taken")
  func failedFact() throws {
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    let workspace = try Workspace()
    try workspace.put("hello", as: "a.txt")
    workspace.program.environment.merge(
      shim.striking(.ioError, atSync: 1, of: "/manifest/")
    ) { $1 }
    try workspace.json("run", exit: 1)
    workspace.program.environment["LD_PRELOAD"] = nil
    let segments = try workspace.files(below: "library/manifest")
    #expect(segments.count == 1)
    for segment in segments {
      let bytes = try workspace.read(BytePath("library/manifest").appending(segment))
      #expect(!bytes.contains(UInt8(ascii: "\n")))
    }
    #expect(workspace.exists("inbox/a.txt"))
    #expect(try workspace.json("run").outcome("a.txt") == "imported")
    try workspace.expectSound()
  }

  @Test("The library is never imported into itself")
  func ownFiles() throws {
    let workspace = try Workspace()
    try workspace.put("hello", as: "a.txt")
    try workspace.json("run")
    let original = try #require(try workspace.files(below: "library/originals").first)
    for path: BytePath in [
      "library", "library/originals", BytePath("library/originals").appending(original),
    ] {
      let events = try workspace.json("import", path, exit: 3)
      #expect(events.of("file").count == 1)
      #expect(events.outcome(path.lastComponent.description) == "failed")
    }
    let events = try workspace.json("import", ".")
    #expect(events.outcome("pipeline.json") == "imported")
    #expect(events.of("file").allSatisfy { $0["path"]?.string?.contains("/library/") == false })
    #expect(Set(try workspace.assets().map { $0["name"] }) == ["a.txt", "pipeline.json"])
    try workspace.expectSound()
  }

  @Test("Results that can't be written are an error, a reader that went away is none")
  func unwrittenResults() throws {
    let workspace = try Workspace()
    try workspace.put([UInt8](repeating: 7, count: 300_000), as: "a.bin")
    try workspace.json("run")
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    workspace.program.output = full
    let failed = try workspace.run("get", id)
    #expect(failed.exitCode == 1 && failed.errors.contains("No space left on device"))
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    try #require(ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 })
    close(ends[0])
    defer { close(ends[1]) }
    workspace.program.output = ends[1]
    let quiet = try workspace.run("get", id)
    #expect(quiet.exitCode == 0 && quiet.signal == nil && quiet.errors == "")
  }

  @Test("SIGINT ends verify at once", .about(.originals))
  func interruptedVerify() throws {
    let workspace = try Workspace()
    try workspace.put("hello", as: "a.txt")
    try workspace.json("run")
    let original = try #require(try workspace.files(below: "library/originals").first)
    let path = workspace.library.appending("originals").appending(original).description
    // Holes that take far longer to hash than the test waits.
    try #require(chmod(path, 0o600) == 0 && truncate(path, 1 << 40) == 0)
    let verify = try workspace.program.start(["verify"])
    let opened = workspace.library.appending("originals").appending(original)
    try verify.wait(for: "the open original") { verify.hasOpen(opened) }
    verify.signal(SIGINT)
    #expect(try verify.wait(within: 5).exitCode == 130)
  }

  @Test("SIGINT ends the wait for another instance with 130")
  func interruptedWait() throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "1h"]])
    try workspace.put("slow", as: "slow.txt")
    let first = try workspace.program.start(["run"])
    try workspace.waitForHolder(first)
    let second = try workspace.program.start(["run", "--wait", "1h"])
    try second.wait(for: "the open library") { second.hasOpen(workspace.library) }
    second.signal(SIGINT)
    #expect(try second.wait(within: 5).exitCode == 130)
    #expect(first.isRunning)
    first.signal(SIGTERM)
    #expect(try first.wait(within: 10).exitCode == 143)
  }

  @Test("The summary is the last line even when a source is missing")
  func summaryLast() throws {
    let workspace = try Workspace(
      sources: [["path": "away", "settle": "0ms"], ["path": "inbox", "settle": "0ms"]])
    try workspace.put("here", as: "here.txt")
    let events = try workspace.json("run", exit: 3)
    #expect(events.last?["event"] == "summary" && events.of("error").count == 1)
  }

  @Test("An empty path is no path")
  func emptyPath() throws {
    let workspace = try Workspace()
    try workspace.put("hello", as: "a.txt")
    try workspace.json("run")
    let id = BytePath(try #require(try workspace.assets().first?["id"]?.string))
    let empty = BytePath(bytes: [])
    for outcome in [try workspace.run("import", empty), try workspace.run("get", id, "-o", empty)] {
      #expect(outcome.exitCode == 2 && outcome.output == "" && outcome.errors != "")
    }
    #expect(try workspace.assets().count == 1)
  }

  private func inode(_ path: BytePath, in workspace: Workspace) throws -> UInt64 {
    var status = stat()
    let result = workspace.root.appending(path).withCString { lstat($0, &status) }
    try #require(result == 0)
    return UInt64(status.st_ino)
  }
}
