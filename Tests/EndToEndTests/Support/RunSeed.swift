import Fixtures
import Foundation
import Testing

extension SeededRandom {
  /// Numbers for one purpose: the same for the same seed of the run and the same words.
  init(for purpose: String) {
    // FNV-1a, as Swift's own hash differs from process to process.
    let salt = purpose.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    self.init(seed: RunSeed.value ^ salt)
  }
}

/// The seed of all that is chosen at random: another one in each run, or that of `PIPELINE_SEED`.
enum RunSeed {
  /// The seed; printed as soon as it is needed.
  static let value: UInt64 = {
    let given = ProcessInfo.processInfo.environment["PIPELINE_SEED"].flatMap(UInt64.init)
    // Short enough to be typed.
    let seed = given ?? .random(in: 1..<1_000_000)
    FaultSelection.progress("seed \(seed): PIPELINE_SEED=\(seed) makes the same choices again")
    return seed
  }()
}

extension Trait where Self == IssueHandlingTrait {
  /// Has each issue say how the random choices that led to it are made again.
  static var seeded: Self {
    .compactMapIssues { issue in
      var issue = issue
      let comment = Comment(rawValue: "Chosen with PIPELINE_SEED=\(RunSeed.value).")
      // A suite's trait is asked once for the suite and once for the test.
      if !issue.comments.contains(comment) { issue.comments.append(comment) }
      return issue
    }
  }
}
