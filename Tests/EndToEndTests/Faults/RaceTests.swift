import Fixtures
import Foundation
import Glibc
import PipelineModel
import Testing

/// Files and clocks that change at the worst moment.
@Suite("Faults: races and clocks", .timeLimit(.minutes(5)))
struct RaceTests {
  private let shimFolder: TemporaryFolder
  private let shim: SystemShim

  init() throws {
    shimFolder = try TemporaryFolder()
    shim = try SystemShim(in: shimFolder.path)
  }

  @Test(
    "A file that vanishes between look and open is counted, and no failure",
    arguments: ["move", "copy"])
  func vanishes(mode: JSONValue) throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": mode]])
    try workspace.put("stays", as: "a.txt")
    try workspace.write(Array("goes".utf8), to: "inbox/fleeting.txt")
    workspace.program.environment.merge(shim.before(opening: "fleeting.txt", .vanishes)) { $1 }
    let events = try workspace.json("run")
    workspace.program.environment["LD_PRELOAD"] = nil
    workspace.expectCountersAddUp(events)
    #expect(events.outcome("fleeting.txt") == "gone" && events.outcome("a.txt") == "imported")
    #expect(!workspace.exists("inbox/fleeting.txt"))
    try workspace.expectSound()
  }

  @Test(
    "A file swapped for a link between look and open is left; what it leads to is never read",
    arguments: ["move", "copy"])
  func swapped(mode: JSONValue) throws {
    let workspace = try Workspace(sources: [["path": "inbox", "settle": "0ms", "mode": mode]])
    try workspace.write(Array("secret".utf8), to: "secret.txt")
    try workspace.write(Array("harmless".utf8), to: "inbox/swapped.txt")
    let secret = workspace.root.appending("secret.txt")
    workspace.program.environment.merge(
      shim.before(opening: "swapped.txt", .becomesLink, target: secret)
    ) { $1 }
    let outcome = try workspace.run("run", "--json")
    workspace.program.environment["LD_PRELOAD"] = nil
    #expect([0, 3].contains(outcome.exitCode), "\(outcome.output)")
    #expect(try outcome.events().outcome("swapped.txt") != "imported")
    #expect(try workspace.assets() == [])
    #expect(workspace.exists("inbox/swapped.txt") && workspace.exists("secret.txt"))
    // From now on it is a link, like any other.
    try workspace.json("run")
    let explained = try workspace.json("explain", "inbox/swapped.txt").of("path").first
    #expect(explained?["state"] == "ignored")
    try workspace.expectSound()
  }

  // A store refuses whoever's clock is wrong by years.
  @Test(
    "Keys sort by the order of taking though the clock jumps, and odd times are kept",
    .about(.originals))
  func clock() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": "200ms", "mode": "move"]])
    let decade = 10 * 366 * 86_400
    let clean = workspace.program.environment
    for (index, offset) in [0, decade, 0, -2 * decade, 3600].enumerated() {
      let name = BytePath("\(index).txt")
      try workspace.put("file \(index)", as: name)
      // The first second of 1970, and of 2100.
      let seconds = index.isMultiple(of: 2) ? 0 : 4_102_444_800
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      let path = workspace.inbox.appending(name).description
      try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
      workspace.program.environment = clean.merging(shim.clock(off: offset)) { $1 }
      let start = ContinuousClock.now
      let outcome = try workspace.run("run", "--json")
      let imported = try outcome.events().outcome("\(index).txt") == "imported"
      #expect(imported, "\(index): \(outcome.output) \(outcome.errors)")
      // The first one with an earlier clock, and all behind it until the clock has caught up.
      #expect(outcome.errors.contains("ahead of the clock") == (index > 1))
      // Years would be waited for.
      #expect(ContinuousClock.now - start < .seconds(50))
      workspace.program.environment = clean
    }
    let assets = try workspace.assets().sorted {
      ($0["id"]?.string ?? "") < ($1["id"]?.string ?? "")
    }
    #expect(assets.map { $0["name"]?.string } == (0..<5).map { "\($0).txt" })
    for (index, asset) in assets.enumerated() {
      let year = index.isMultiple(of: 2) ? "1970-01-01T00:00:00" : "2100-01-01T00:00:00"
      #expect(asset["modifiedAt"]?.string?.hasPrefix(year) == true)
    }
    try workspace.expectSound()
  }
}
