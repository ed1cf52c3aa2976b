import Files
import Fixtures
import Foundation
import Hashing
import PipelineModel
import Synchronization
import Testing

/// The power is cut: what was not flushed is gone, or its names are there without its bytes.
///
/// The calls of a run are recorded with what they wrote. For a moment in that
/// record the disk is built that would be found, and a run has to make it good.
/// With `PIPELINE_FAULTS=1` the power is cut before and after each flush.
@Suite("Faults: power loss", .timeLimit(.minutes(60)))
struct PowerLossTests {
  /// Without the source on another file system, whose losses the model does not have.
  static let scenarios = FaultScenario.allCases.filter { $0 != .otherFileSystem }

  @Test("What was acknowledged before the power was cut is whole", arguments: scenarios)
  func powerLoss(scenario: FaultScenario) async throws {
    // Each has a trace of its own, as the library knows its sources by their absolute paths.
    let workers = FaultSelection.isFull ? 2 : 1
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<workers {
        group.addTask {
          let bench = try PowerLossBench(scenario)
          let moments = FaultSelection.places(
            bench.moments.count, selecting: 4, seed: 815
          ).map { $0 - 1 }.filter { $0 % workers == worker }
          try bench.cutPower(at: moments)
        }
      }
      try await group.waitForAll()
    }
  }
}
