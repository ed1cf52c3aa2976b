import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Disks that fail to read or to flush, and a kernel that does no more than it has to.
@Suite("Faults: disk errors", .timeLimit(.minutes(10)))
struct DiskErrorTests {
  private static func sources(_ mode: String, _ take: String) -> JSONValue {
    [["path": "inbox", "settle": "0ms", "mode": .string(mode), "take": .string(take)]]
  }

  @Test(
    "A source that can't be read is reported and tried again, the others are taken",
    arguments: [("move", "auto"), ("move", "copy"), ("copy", "auto")])
  func unreadableSource(mode: String, take: String) throws {
    let shimFolder = try TemporaryFolder()
    let shim = try SystemShim(in: shimFolder.path)
    let workspace = try Workspace(sources: Self.sources(mode, take))
    for name in ["a.txt", "bad.txt", "c.txt"] as [BytePath] {
      try workspace.put("in \(name)", as: name)
    }
    var status = stat()
    try #require(lstat(workspace.inbox.appending("bad.txt").description, &status) == 0)
    let clean = workspace.program.environment
    workspace.program.environment.merge(shim.unreadable(inode: UInt64(status.st_ino))) { $1 }
    for _ in 0..<2 {
      let events = try workspace.json("run", exit: 3)
      workspace.expectCountersAddUp(events)
      #expect(events.outcome("bad.txt") == "failed")
      #expect(workspace.exists("inbox/bad.txt"))
    }
    workspace.program.environment = clean
    #expect(try workspace.assets().count == 2)
    #expect(try workspace.json("run").outcome("bad.txt") == "imported")
    #expect(try workspace.assets().count == 3)
    try workspace.expectSound()
  }

  @Test(
    "Pages that could not be flushed are never flushed again: the bytes go to a new inode",
    .about(.originals),
    arguments: ["auto", "copy"])
  func failedFlush(take: String) throws {
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    let tracing = try TraceShim(in: shimFolder.path)
    // In memory no inode number is used twice, so one number is one inode.
    let workspace = try Workspace(sources: Self.sources("move", take), in: "/dev/shm")
    try workspace.put("hello", as: "a.txt")
    let trace = shimFolder.appending("trace")
    let clean = workspace.program.environment
    workspace.program.environment.merge(tracing.tracing(into: trace)) { $1 }
    workspace.program.environment.merge(
      shim.striking(.ioError, atSync: 1, of: "/incoming/")
    ) { $1 }
    // A flush that is struck never gets to the second library, which so notes the others only.
    workspace.program.environment["LD_PRELOAD"] = "\(shim.path) \(tracing.path)"
    #expect(try workspace.json("run").outcome("a.txt") == "imported")
    workspace.program.environment = clean
    let records = try TraceRecord.parse(try workspace.read(trace))
    let first = try #require(
      records.first { record in
        [.create, .rename].contains(record.kind)
          && String(decoding: record.kind == .create ? record.first : record.second, as: UTF8.self)
            .contains("/incoming/")
      })
    let path = try #require(try workspace.files(below: "library/originals").first)
    var status = stat()
    try #require(
      lstat(workspace.library.appending("originals").appending(path).description, &status) == 0)
    let flushed = Set(records.filter(\.isSync).map(\.inode))
    #expect(!flushed.contains(first.inode) && flushed.contains(UInt64(status.st_ino)))
    #expect(first.inode != UInt64(status.st_ino))
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.expectSound()
  }

  @Test(
    "Of many files that are flushed together, the one that failed goes to a new inode",
    .about(.originals),
    arguments: ["auto", "copy"])
  func failedFlushOfOne(take: String) throws {
    let run = try flushedTogether(take, .ioError, atSync: 3, of: "/incoming/")
    #expect(run.together > 0)
    // The third file's; all others are what was brought into incoming/ first.
    #expect(run.originals.subtracting(run.brought).count == 1)
    #expect(run.originals.subtracting(run.flushedAlone).count == 19)
  }

  @Test(
    "Where the flush of all files together fails, each is flushed by itself", .about(.originals),
    arguments: [PreloadShim.Strike.ioError, .noSpace])
  func failedFlushOfAll(strike: PreloadShim.Strike) throws {
    // The bytes of eight files come first, then the flush of them together.
    let run = try flushedTogether("copy", strike, atSync: 9, of: "/incoming")
    #expect(run.originals.isSubset(of: run.brought))
    #expect(run.originals.intersection(run.flushedAlone).count == 8)
  }

  /// What became of files that were taken in groups.
  private struct FlushedTogether {
    /// Inodes of the stored originals, and those that first had a name in `incoming/`.
    var originals: Set<UInt64> = []
    var brought: Set<UInt64> = []
    /// Inodes of files that were flushed by themselves.
    var flushedAlone: Set<UInt64> = []
    /// How many flushes of all files there were.
    var together = 0
  }

  /// Takes twenty files, of which eight are taken together first, on a disk that fails once.
  private func flushedTogether(
    _ take: String, _ strike: PreloadShim.Strike, atSync call: Int, of text: String
  ) throws -> FlushedTogether {
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    let tracing = try TraceShim(in: shimFolder.path)
    let workspace = try Workspace(sources: Self.sources("move", take), in: "/dev/shm")
    for number in 0..<20 { try workspace.put("file \(number)", as: BytePath("\(number).txt")) }
    let trace = shimFolder.appending("trace")
    let clean = workspace.program.environment
    workspace.program.environment.merge(tracing.tracing(into: trace)) { $1 }
    workspace.program.environment.merge(shim.striking(strike, atSync: call, of: text)) { $1 }
    workspace.program.environment["LD_PRELOAD"] = "\(shim.path) \(tracing.path)"
    let events = try workspace.json("run")
    workspace.program.environment = clean
    #expect(events.filter { $0["event"] == "file" && $0["outcome"] == "imported" }.count == 20)
    #expect(try workspace.files(below: "inbox") == [])
    try workspace.expectSound()

    var result = FlushedTogether()
    var names: Set<String> = []
    for record in try TraceRecord.parse(try workspace.read(trace)) {
      switch record.kind {
      case .create, .rename:
        let path = record.kind == .create ? record.first : record.second
        let name = String(decoding: path, as: UTF8.self)
        let isFirst = name.contains("/incoming/") && !name.hasSuffix(".copy")
        if isFirst, names.insert(name).inserted { result.brought.insert(record.inode) }
      case .sync: result.flushedAlone.insert(record.inode)
      case .syncAll: result.together += 1
      default: break
      }
    }
    for path in try workspace.files(below: "library/originals") {
      var status = stat()
      try #require(
        lstat(workspace.library.appending("originals").appending(path).description, &status) == 0)
      result.originals.insert(UInt64(status.st_ino))
    }
    return result
  }

  @Test(
    "A catalog that can't be flushed ends the run with 1, and the next run makes all good",
    .about(.catalogFile))
  func failedCommit() throws {
    let shimFolder = try TemporaryFolder()
    let shim = try PreloadShim(in: shimFolder.path)
    var ended = 0
    for call in 1...(FaultSelection.isFull ? 12 : 4) {
      let (workspace, _) = try FaultScenario.move.makeWorkspace()
      let clean = workspace.program.environment
      workspace.program.environment.merge(
        shim.striking(.ioError, atSync: call, of: "/catalog.sqlite")
      ) { $1 }
      let outcome = try workspace.run("run", "--json")
      workspace.program.environment = clean
      #expect([0, 1].contains(outcome.exitCode), "at \(call): \(outcome.output)")
      if outcome.exitCode == 1 {
        ended += 1
        #expect(try outcome.events("error").count == 1)
      }
      #expect(try workspace.run("run").exitCode == 0)
      if try workspace.endDelays() > 0 { try workspace.json("run") }
      #expect(try workspace.assets().count == 4)
      try workspace.expectSound("at \(call)")
    }
    #expect(ended > 0)
  }

  @Test("Short writes and interrupted calls change no byte", arguments: ["auto", "copy"])
  func dribbles(take: String) throws {
    let shimFolder = try TemporaryFolder()
    let shim = try SystemShim(in: shimFolder.path)
    let stages = Workspace.stages(thumbnails: ["storage": "file"])
    let workspace = try Workspace(sources: Self.sources("move", take), stages: stages)
    let plain = try Workspace(sources: Self.sources("move", take), stages: stages)
    for (name, bytes) in FaultScenario.move.files {
      try workspace.put(bytes, as: name)
      try plain.put(bytes, as: name)
    }
    let clean = workspace.program.environment
    workspace.program.environment.merge(shim.dribbling) { $1 }
    try workspace.json("run")
    workspace.program.environment = clean
    try plain.json("run")
    // The digests of originals and renditions are among it.
    #expect(try workspace.state() == plain.state())
    try workspace.expectSound()
  }
}
