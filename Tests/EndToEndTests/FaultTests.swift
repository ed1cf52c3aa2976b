import Fixtures
import Foundation
import PipelineModel
import Testing

/// A strike at any call that changes a file, then a clean run: nothing is lost, nothing is there twice.
///
/// With `PIPELINE_FAULTS=1` every call of every scenario is struck; otherwise a
/// seeded selection is.
@Suite("Faults", .timeLimit(.minutes(60)))
struct FaultTests {
  /// Where files come from and how they are taken.
  enum Scenario: String, CaseIterable, Sendable {
    case move, copy, otherFileSystem, storedAsFiles, keptDuplicates
  }

  private static var isFull: Bool {
    ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1"
  }

  @Test("A kill at any call loses nothing", arguments: Scenario.allCases)
  func kill(scenario: Scenario) throws {
    try strikeAll(scenario, [.kill, .tear], selection: scenario == .move ? 16 : 6)
  }

  @Test("A call that fails loses nothing", arguments: Scenario.allCases)
  func fail(scenario: Scenario) throws {
    try strikeAll(scenario, [.ioError, .noSpace], selection: scenario == .move ? 8 : 4)
  }

  @Test("A kill while the last kill is made good loses nothing")
  func killTwice() throws {
    let bench = try FaultBench(.move)
    let total = try bench.undisturbed().calls
    var random = SeededRandom(seed: 71)
    for _ in 0..<(Self.isFull ? 150 : 6) {
      let first = Int.random(in: 1...total, using: &random)
      let second = Int.random(in: 1...30, using: &random)
      try bench.strike([(.kill, first), (.tear, second)])
    }
  }

  private func strikeAll(
    _ scenario: Scenario, _ strikes: [PreloadShim.Strike], selection: Int
  ) throws {
    let bench = try FaultBench(scenario)
    let total = try bench.undisturbed().calls
    #expect(total > 50)
    print("\(scenario.rawValue): \(total) calls that change files")
    var random = SeededRandom(seed: 4711)
    for strike in strikes {
      let all = Array(1...total)
      let chosen =
        Self.isFull ? all : all.shuffled(using: &random).prefix(selection / strikes.count).sorted()
      for call in chosen { try bench.strike([(strike, call)]) }
    }
  }
}

/// Random numbers that are the same every time. Source: SplitMix64, Steele et al. 2014.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
