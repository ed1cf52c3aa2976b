import Fixtures
import Foundation
import PipelineModel
import Testing

/// A strike at any call by which undo, `trash empty`, gc, tag, the first run with an older catalog and an
/// edit by `PipelineLibrary` change files, then the same again.
///
/// With `PIPELINE_FAULTS=1` every call is struck; otherwise a selection is, another one
/// in each run.
@Suite("Faults of care", .timeLimit(.minutes(60)), .seeded)
struct MaintenanceFaultTests {
  private static var isFull: Bool {
    ProcessInfo.processInfo.environment["PIPELINE_FAULTS"] == "1"
  }

  @Test(
    "A kill or a failure at any call loses nothing", arguments: MaintenanceBench.Scenario.all)
  func strike(scenario: MaintenanceBench.Scenario) throws {
    let bench = try MaintenanceBench(scenario)
    let total = try bench.undisturbed().calls
    #expect(total > 5)
    print("\(scenario.rawValue): \(total) calls that change files")
    var random = SeededRandom(for: "care, \(scenario.rawValue)")
    for strike in PreloadShim.Strike.allCases {
      let all = Array(1...total)
      let chosen =
        Self.isFull
        ? all : all.shuffled(using: &random).prefix(scenario == .undo ? 4 : 2).sorted()
      for call in chosen { try bench.strike(strike, at: call) }
    }
  }
}
