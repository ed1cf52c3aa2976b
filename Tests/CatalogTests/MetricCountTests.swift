import Fixtures
import PipelineModel
import Records
import Testing

@testable import Catalog

/// What metrics count, compared with the views and lists that look at each row.
@Suite("Counts for metrics", .onEachDatabase, .timeLimit(.minutes(5)))
struct MetricCountTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  @Test("After random changes, assets by state and failures by class are those that are listed")
  func random() throws {
    var changes = try RandomChanges(random: SeededRandom(seed: Self.seed))
    let library = changes.library
    var seen: Set<AssetRecord.State> = []
    var attempts = 0
    let all = Set(AssetRecord.State.allCases)
    // A state can stay away for longer.
    for step in 0..<3000 where step < 300 || seen != all {
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
    #expect(seen == all && attempts > 0)
  }

  @Test(
    "The version of the data stays as long as nothing is committed, and changes with every commit")
  func version() throws {
    let library = try Library()
    let reader = try CatalogReader.open(at: library.place, immutable: false)
    var last = try reader.dataVersion
    #expect(try reader.dataVersion == last && reader.status().assets == 0)
    try library.add([Samples.asset(1)])
    #expect(try reader.dataVersion != last)
    last = try reader.dataVersion
    // What is no asset counts, too.
    try library.catalog.beginRun(RunRecord(id: Samples.id(50), verb: "run", startedAt: .now))
    try library.catalog.endRun(Samples.id(50), counters: [:], at: .now)
    #expect(try reader.dataVersion != last)
    last = try reader.dataVersion
    try reader.snapshot {
      // A snapshot begins with what it reads first.
      #expect(try reader.dataVersion == last)
      try library.add([Samples.asset(2)])
      #expect(try reader.dataVersion == last && reader.status().assets == 1)
    }
    #expect(try reader.dataVersion != last && reader.status().assets == 2)
    try reader.close()
  }
}
