import Fixtures
import Foundation
import PipelineModel
import Synchronization
import Testing

/// Makes the same small library again and again, with another fault each time.
final class FaultBench: Sendable {
  let scenario: FaultScenario
  private let inMemory: Bool
  private let shimFolder: TemporaryFolder
  private let shim: PreloadShim
  /// How many calls a run without a fault makes.
  let calls: Int
  /// Those of them that write bytes, and so can be torn or lack room.
  let writes: [Int]
  /// What such a run comes to.
  let state: [String]

  /// Makes it with a run without a fault.
  ///
  /// - Parameter inMemory: whether libraries are on a file system in memory.
  init(_ scenario: FaultScenario, inMemory: Bool = FaultSelection.isFull) throws {
    self.scenario = scenario
    self.inMemory = inMemory
    shimFolder = try TemporaryFolder()
    shim = try PreloadShim(in: shimFolder.path, countsSends: TestServers.areAsked)
    let bench = try scenario.makeWorkspace(inMemory: inMemory)
    let workspace = bench.workspace
    let count = shimFolder.appending("count")
    workspace.program.environment.merge(shim.counting(into: count)) { $1 }
    try workspace.json("run")
    workspace.program.environment["LD_PRELOAD"] = nil
    let calls = try #require(Int(String(decoding: try workspace.read(count), as: UTF8.self)))
    self.calls = calls
    let kinds = try workspace.read(BytePath(bytes: count.bytes + Array(".kinds".utf8)))
    writes = kinds.enumerated().filter { $0.element == UInt8(ascii: "w") }.map { $0.offset + 1 }
    try #require(calls > 50 && writes.count > 20)
    try workspace.expectSound("undisturbed")
    state = try workspace.state()
    let expected = scenario.expected
    try #require(state.count { $0.hasPrefix("asset") } == expected.assets)
    try #require(state.count { $0.hasPrefix("rendition") } == expected.renditions)
  }

  /// Strikes a run, and the next one for each further strike; then one clean run has to make all good.
  func strike(_ strikes: [(PreloadShim.Strike, Int)]) throws {
    let bench = try scenario.makeWorkspace(inMemory: inMemory)
    let workspace = bench.workspace
    let story = strikes.map { "\($0.0) at \($0.1)" }.joined(separator: ", ")
    let comment = Comment(rawValue: "\(scenario.rawValue): \(story)")
    let mayDelay = strikes.contains { $0.0.isFailure }
    var messages: [String] = []
    for (strike, call) in strikes {
      let clean = workspace.program.environment
      workspace.program.environment.merge(shim.striking(strike, at: call)) { $1 }
      let outcome = try workspace.run("run")
      workspace.program.environment = clean
      if strike.isFailure {
        #expect([0, 1, 3].contains(outcome.exitCode), comment)
      } else {
        #expect(outcome.signal == 9 || outcome.exitCode == 0, comment)
      }
      messages.append(outcome.errors)
    }
    let last = try workspace.run("run")
    #expect(last.exitCode == 0, "\(comment.rawValue): \(last.errors)")
    if try mayDelay && workspace.endDelays() > 0 {
      #expect(try workspace.run("run").exitCode == 0, comment)
    }
    // In PostgreSQL each attempt has files of its own, so nobody overwrites what a strike has left: at most those of the
    // jobs that ran then. Without one nothing is left, as `init` has found.
    if TestServers.areAsked {
      let garbage = try workspace.json("gc", "--yes").of("garbage").first
      #expect(try #require(garbage?["files"]?.integer) <= 8 * strikes.count, comment)
    }
    try workspace.expectSound(comment)
    let now = try workspace.state()
    // Where the first of two equal files could not be read, the second one is the asset.
    let isSame = now == state || mayDelay && now == Self.withEqualFilesSwapped(state)
    #expect(
      isSame,
      """
      \(comment.rawValue): missing \(state.filter { !now.contains($0) }), \
      more \(now.filter { !state.contains($0) }), said \(messages) \(last.errors)
      """)
  }

  private static func withEqualFilesSwapped(_ state: [String]) -> [String] {
    state.map { line in
      line.replacing("d copy of a.jpg", with: "\0").replacing("a.jpg", with: "d copy of a.jpg")
        .replacing("\0", with: "a.jpg")
    }.sorted()
  }
}

extension PreloadShim.Strike {
  /// Whether the call fails and the program goes on, instead of being killed.
  var isFailure: Bool { self == .ioError || self == .noSpace }
}
