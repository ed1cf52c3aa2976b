import Fixtures
import Foundation
import PipelineModel
import Testing

/// A strike at any call that changes a file, then a clean run: nothing is lost, nothing is there twice.
///
/// With `PIPELINE_FAULTS=1` every call of every scenario is struck; otherwise a
/// selection is, another one in each run. Where tests use servers, calls that send them something count as well.
@Suite("Faults: kills and failing calls", .timeLimit(.minutes(60)), .seeded)
struct KillTests {
  @Test("A kill at any call loses nothing", arguments: FaultScenario.ofFiveFiles)
  func kill(scenario: FaultScenario) async throws {
    let bench = try FaultBench(scenario)
    FaultSelection.progress("\(scenario.rawValue): \(bench.calls) calls that change files")
    let some = scenario == .move ? 6 : 2
    try await strike(bench, .kill, Array(1...bench.calls), selecting: some)
    // In the middle of it; a call that writes nothing has none.
    try await strike(bench, .tear, bench.writes, selecting: some)
  }

  @Test("A call that fails loses nothing", arguments: FaultScenario.ofFiveFiles)
  func fail(scenario: FaultScenario) async throws {
    let bench = try FaultBench(scenario)
    let some = scenario == .move ? 3 : 1
    try await strike(bench, .ioError, Array(1...bench.calls), selecting: some)
    try await strike(bench, .noSpace, bench.writes, selecting: some)
  }

  @Test("A kill while the last kill is made good loses nothing")
  func killTwice() async throws {
    let bench = try FaultBench(.move)
    var random = SeededRandom(for: "killed twice")
    let pairs = (0..<(FaultSelection.isFull ? 150 : 6)).map { _ in
      (Int.random(in: 1...bench.calls, using: &random), Int.random(in: 1...30, using: &random))
    }
    try await FaultSelection.forEach("killed twice", pairs) { pair in
      try bench.strike([(.kill, pair.0), (.tear, pair.1)])
    }
  }

  @Test(
    "A kill while many files are taken and flushed together loses nothing",
    arguments: [FaultScenario.manyFiles, .manyRenamed])
  func killAmongMany(scenario: FaultScenario) async throws {
    let bench = try FaultBench(scenario)
    var random = SeededRandom(for: "kill among many, \(scenario.rawValue)")
    let places = (0..<(FaultSelection.isFull ? 150 : 2)).map { _ in
      Int.random(in: 1...bench.calls, using: &random)
    }
    try await FaultSelection.forEach("\(scenario.rawValue), kill", places) {
      try bench.strike([(.kill, $0)])
    }
  }

  private func strike(
    _ bench: FaultBench, _ strike: PreloadShim.Strike, _ all: [Int], selecting count: Int
  ) async throws {
    let title = "\(bench.scenario.rawValue), \(strike.rawValue)"
    let places = FaultSelection.places(all, selecting: count, for: title)
    try await FaultSelection.forEach(title, places) {
      try bench.strike([(strike, $0)])
    }
  }
}
