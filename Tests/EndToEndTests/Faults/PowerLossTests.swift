import Files
import Fixtures
import Foundation
import Glibc
import Hashing
import PipelineModel
import Synchronization
import Testing

/// The power is cut: what was not flushed is gone, or its names are there without its bytes.
///
/// The calls of a run are recorded with what they wrote. For a moment in that
/// record the disk is built that would be found, and a run has to make it good.
/// With `PIPELINE_FAULTS=1` the power is cut before and after each flush.
@Suite(
  "Faults: power loss", .timeLimit(.minutes(60)), .seeded, .about(.modelledDisk))
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
            Array(bench.moments.indices), selecting: 2, for: "power loss, \(scenario.rawValue)"
          ).filter { $0 % workers == worker }
          try bench.cutPower(at: moments)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(
    "A copy that was not flushed is no original, even if its source is away when the power is back",
    arguments: [FaultScenario.copy, .copiedThenRemoved, .manyFiles])
  func sourceAway(scenario: FaultScenario) throws {
    let bench = try PowerLossBench(scenario)
    let moments = FaultSelection.places(
      Array(bench.moments.indices), selecting: 6, for: "source away, \(scenario.rawValue)")
    try bench.cutPower(at: moments, losses: [.bytes], sourceIsAway: true)
  }

  /// Which flushes a disk pretends to have done.
  enum Lie: String, CaseIterable, Sendable {
    case all, files, journal

    /// Whether a flush is one of the others.
    fileprivate func spares(_ path: BytePath?) -> Bool {
      switch self {
      case .all: false
      // Files are copied here: what is renamed was on disk before the program came.
      case .files: path?.relative(to: "library/originals") == nil
      case .journal: path?.relative(to: "library/manifest") == nil
      }
    }

    /// What the oracle has to say of it.
    fileprivate var sign: String {
      switch self {
      case .all: "was acknowledged and is not there"
      case .files: "original-damaged"
      case .journal: "the manifest only"
      }
    }
  }

  @Test("Control: a disk that only pretends to flush is found out", arguments: Lie.allCases)
  func lyingDisk(lie: Lie) throws {
    let bench = try PowerLossBench(.copiedThenRemoved) { _, path in lie.spares(path) }
    try expectFoundOut(bench, by: lie.sign)
  }

  @Test("Control: a disk that only pretends to flush many files together is found out")
  func lyingFlushOfMany() throws {
    let bench = try PowerLossBench(.manyFiles) { record, _ in record.kind != .syncAll }
    try expectFoundOut(bench, by: "original-damaged")
  }

  /// Cuts the power at the end, and fails where the oracle does not say what it must: then the other
  /// tests here could not have found it either.
  private func expectFoundOut(_ bench: PowerLossBench, by sign: String) throws {
    let isSeen = Mutex(false)
    try withKnownIssue {
      try bench.cutPower(at: [bench.moments.count - 1])
    } matching: { issue in
      // Of another kind are errors of the test itself.
      guard case .expectationFailed = issue.kind else { return false }
      if issue.comments.contains(where: { $0.rawValue.contains(sign) }) {
        isSeen.withLock { $0 = true }
      }
      return true
    }
    #expect(isSeen.withLock { $0 }, "Nothing said “\(sign)”.")
  }
}
