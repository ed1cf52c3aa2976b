import Fixtures
import Glibc
import PipelineModel
import Testing

/// Verbs that change something beside `watch`, which can let the library go.
@Suite("Requests to a watch", .timeLimit(.minutes(5)))
struct WatchControlTests {
  @Test("rebuild-catalog gets the library from a watch, which goes on afterwards")
  func rebuild() throws {
    let workspace = try Workspace()
    try workspace.put(try Pictures.jpeg(width: 120, height: 90), as: "a.jpg")
    let watch = try workspace.program.start(["watch", "--json"])
    try workspace.waitForAssets(1)
    let before = try workspace.assets().map { $0["id"] }
    #expect(try workspace.json("rebuild-catalog").first?["assets"] == 1)
    try workspace.put("later", as: "later.txt")
    try workspace.waitForAssets(2)
    #expect(watch.isRunning)
    #expect(try workspace.assets().map { $0["id"] }.prefix(1) == before[...])
    watch.signal(SIGTERM)
    #expect(try watch.wait(within: 10).exitCode == 143)
    try workspace.json("run")
    try workspace.expectSound()
  }

  @Test("A run that holds the library is not interrupted: rebuild-catalog ends with 11, or waits")
  func rebuildBesideRun() throws {
    let workspace = try Workspace(
      sources: [["path": "inbox", "settle": HeldRun.window, "mode": "move"]])
    try workspace.put("slow", as: "slow.txt")
    let held = try HeldRun(workspace)
    #expect(try workspace.run("rebuild-catalog").exitCode == 11)
    let rebuilding = try workspace.program.start(["rebuild-catalog", "--wait", "5m"])
    try rebuilding.wait(for: "the open library") { rebuilding.hasOpen(workspace.library) }
    #expect(try held.finish().exitCode == 0)
    #expect(try rebuilding.wait(within: 60).exitCode == 0)
    try workspace.json("run")
    #expect(try workspace.assets().count == 1)
    try workspace.expectSound()
  }
}

extension Workspace {
  /// Waits until a process that works beside has recorded so many assets, all with their jobs done.
  func waitForAssets(
    _ count: Int, within seconds: Int = 20, at location: SourceLocation = #_sourceLocation
  ) throws {
    for _ in 0..<(seconds * 20) {
      let outcome = try run("list", "--json")
      if outcome.exitCode == 0 {
        let assets = try outcome.events()
        if assets.count == count, assets.allSatisfy({ $0["state"] == "done" }) { return }
      }
      usleep(50_000)
    }
    Issue.record("There are not \(count) assets yet.", sourceLocation: location)
  }
}
