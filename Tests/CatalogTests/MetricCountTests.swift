import Fixtures
import Testing

@testable import Catalog

/// What metrics count, compared with the views and lists that look at each row.
@Suite("Counts for metrics", .timeLimit(.minutes(2)))
struct MetricCountTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  @Test("After random changes, assets by state and failures by class are those that are listed")
  func random() throws {
    var changes = try RandomChanges(random: SeededRandom(seed: Self.seed))
    let library = changes.library
    var seen: Set<AssetRecord.State> = []
    var attempts = 0
    for step in 0..<300 {
      let name = "\(try changes.next())"
      let note = "seed \(Self.seed), step \(step), \(name)"
      try library.read { reader in
        let counts = try reader.metricCounts()
        var states = counts.unfinished
        states[.trashed] = counts.trashed
        states[.done] =
          try reader.status().assets - counts.unfinished.values.reduce(0, +)
        for state in AssetRecord.State.allCases {
          let listed = try library.count(
            "SELECT count(*) FROM asset_state WHERE state = '\(state.rawValue)'")
          #expect(states[state] ?? 0 == listed, "\(note): \(state)")
          if listed > 0 { seen.insert(state) }
        }
        var failures: [String: [String: Int]] = [:]
        for failure in try reader.failures() {
          failures[failure.stage, default: [:]][failure.failureClass, default: 0] += 1
        }
        #expect(counts.failures == failures, "\(note)")
        #expect(counts.attemptsBegun >= attempts, "\(note)")
        attempts = counts.attemptsBegun
      }
    }
    #expect(seen == Set(AssetRecord.State.allCases) && attempts > 0)
  }
}
