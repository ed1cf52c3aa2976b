import Fixtures
import Foundation
import PipelineModel
import Testing

/// A strike at any call that changes a file, then a clean run: nothing is lost, nothing is there twice.
///
/// With `PIPELINE_FAULTS=1` every call of every scenario is struck; otherwise a
/// seeded selection is.
@Suite("Faults: kills and failing calls", .timeLimit(.minutes(60)))
struct KillTests {
  @Test("A kill at any call loses nothing", arguments: FaultScenario.ofFiveFiles)
  func kill(scenario: FaultScenario) async throws {
    try await strikeAll(scenario, [.kill, .tear], selection: scenario == .move ? 16 : 6)
  }

  @Test("A call that fails loses nothing", arguments: FaultScenario.ofFiveFiles)
  func fail(scenario: FaultScenario) async throws {
    try await strikeAll(scenario, [.ioError, .noSpace], selection: scenario == .move ? 8 : 4)
  }

  @Test("A kill while the last kill is made good loses nothing")
  func killTwice() async throws {
    let bench = try FaultBench(.move)
    var random = SeededRandom(seed: 71)
    let pairs = (0..<(FaultSelection.isFull ? 150 : 6)).map { _ in
      (Int.random(in: 1...bench.calls, using: &random), Int.random(in: 1...30, using: &random))
    }
    try await FaultSelection.forEach("killed twice", pairs) { pair in
      try bench.strike([(.kill, pair.0), (.tear, pair.1)])
    }
  }

  private func strikeAll(
    _ scenario: FaultScenario, _ strikes: [PreloadShim.Strike], selection: Int
  ) async throws {
    let bench = try FaultBench(scenario)
    FaultSelection.progress("\(scenario.rawValue): \(bench.calls) calls that change files")
    for strike in strikes {
      let places = FaultSelection.places(
        bench.calls, selecting: selection / strikes.count, seed: 4711)
      try await FaultSelection.forEach("\(scenario.rawValue), \(strike.rawValue)", places) {
        try bench.strike([(strike, $0)])
      }
    }
  }
}
