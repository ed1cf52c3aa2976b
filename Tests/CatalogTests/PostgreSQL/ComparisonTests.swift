import Fixtures
import Foundation
import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// The same history in SQLite and in PostgreSQL, and what each then says.
@Suite(
  "SQLite and PostgreSQL side by side",
  .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(10)))
struct ComparisonTests {
  /// Another one in each run; failures print it.
  private static let seed = UInt64.random(in: 1..<1_000_000)

  /// Calls a body with a library in each database.
  private func inBoth<Value>(_ body: (TestedDatabase) throws -> Value) rethrows -> (Value, Value) {
    try TestedDatabase.$isCompared.withValue(true) {
      (
        try TestedDatabase.$current.withValue(.sqlite) { try body(.sqlite) },
        try TestedDatabase.$current.withValue(.postgreSQL) { try body(.postgreSQL) }
      )
    }
  }

  private func described() throws -> (Library, Library) {
    try inBoth { _ in
      var random = SeededRandom(seed: Self.seed)
      return try DescribedLibrary(120, using: &random).library
    }
  }

  /// A value of each type, with and without names for its parts.
  private static let facts: [(stage: String, facts: JSONValue)] = [
    (
      "identify",
      [
        "yes": true, "no": false, "nothing": .null, "whole": 7, "real": 1.5, "text": "1",
        "list": [1, "a", true], "object": ["a": [.null]],
      ]
    ),
    (
      "metadata",
      [
        "xmp": [
          "dc:title": ["x-default": "a", "de": "\u{e4}"], "dc:subject": ["a", true, .null, 1.5],
          "empty": [], "whole": 7, "yes": true,
        ], "width": 1,
      ]
    ),
  ]

  @Test("Times near the middle between two milliseconds are rounded alike")
  func times() throws {
    let (sqlite, postgreSQL) = try described()
    let found = try [sqlite, postgreSQL].map { library in
      // Up to 30 µs before and after it, where a floating-point number of days has few bits left.
      #expect(
        try library.execute(
          """
          UPDATE attempt SET started_at = 1700000000000500 + id * 7919000 + id % 61 - 30
          """) > 100)
      return try CatalogViews.rows(library.catalog, "attempts", ["id", "started_at"])
    }
    let difference = zip(found[0], found[1]).first { $0 != $1 }
    #expect(difference?.0 == difference?.1 && found[0].count == found[1].count)
  }

  private func addFacts(to library: Library) throws {
    let asset = Samples.asset(901)
    try library.add([asset])
    for (stage, facts) in Self.facts {
      let jobs = try library.catalog.claim(stage: stage, limit: 1_000, suspects: false)
      let own = jobs.filter { $0.asset == asset.id }
      try #require(own.count == 1)
      _ = try library.catalog.complete(
        own.map {
          Completion(token: $0.token, outcome: .done(facts: facts, renditions: []), seconds: 1)
        })
      try library.catalog.requeue(jobs.filter { $0.asset != asset.id }.map(\.token))
    }
  }

  @Test("Each view has the same rows, names and texts")
  func views() throws {
    let (sqlite, postgreSQL) = try described()
    for library in [sqlite, postgreSQL] {
      try library.catalog.beginRun(
        RunRecord(id: Samples.id(900), verb: "run", startedAt: Samples.start, counters: ["a": 1]))
      try addFacts(to: library)
      try library.catalog.apply(
        [
          .sighting(
            Sighting(
              source: Samples.source, path: "x/\u{e9}", state: .duplicate,
              identity: FileIdentity(
                inode: .max, size: 1, modified: -1_600_000_000_000, changed: 1),
              asset: Samples.id(1), reason: "Why.", seenAt: Samples.start, awaitsRemoval: true))
        ], manifestPosition: 0)
    }
    for (name, columns) in CatalogViews.all {
      let (expected, found) = (
        try CatalogViews.rows(sqlite.catalog, name, columns),
        try CatalogViews.rows(postgreSQL.catalog, name, columns)
      )
      #expect(expected.count == found.count, "\(name), seed \(Self.seed)")
      #expect(!expected.isEmpty, "\(name), seed \(Self.seed)")
      let difference = zip(expected, found).first { $0 != $1 }
      #expect(difference?.0 == difference?.1, "\(name), seed \(Self.seed)")
    }
  }

  @Test("2,000 random filters, orders and groupings find the same")
  func searches() throws {
    // Filters, too, have only texts that PostgreSQL can store.
    try TestedDatabase.$isCompared.withValue(true) { try compareSearches() }
  }

  private func compareSearches() throws {
    let (sqlite, postgreSQL) = try described()
    var filters = RandomFilter(random: SeededRandom(seed: Self.seed))
    var random = SeededRandom(seed: Self.seed)
    try sqlite.read { first in
      try postgreSQL.read { second in
        for _ in 0..<2_000 {
          let filter = filters.next()
          let order = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            SortCriterion(
              Field.all.randomElement(using: &random) ?? .time(.taken),
              isDescending: Bool.random(using: &random), isNilFirst: Bool.random(using: &random))
          }
          let question = AssetQuestion(filter, order: order, limit: 50)
          let found = (try first.find(question), try second.find(question))
          #expect(found.0 == found.1, "seed \(Self.seed): \(filter) by \(order)")
          let counts = (try first.count(filter), try second.count(filter))
          #expect(counts.0 == counts.1, "seed \(Self.seed): \(filter)")
        }
        for grouping in [
          Grouping.folder, .field(.text(.camera)), .field(.text(.tag)), .field(.text(.state)),
        ] {
          let groups = (
            try first.groups(.everything, by: grouping),
            try second.groups(.everything, by: grouping)
          )
          #expect(groups.0 == groups.1, "seed \(Self.seed): \(grouping)")
        }
      }
    }
  }

  @Test(
    "A random walk of claims, completions, retries, deletions and changes of stages ends the same")
  func walk() throws {
    let (first, second) = try inBoth { _ in try walked() }
    #expect(first.steps == second.steps, "seed \(Self.seed)")
    // SQLite leaves a file alone whose job is due again, because it will have the same path.
    for (left, right) in zip(first.discarded, second.discarded) {
      #expect(left.isSubset(of: right), "seed \(Self.seed)")
    }
    let (expected, found) = (
      try CatalogViews.all.map {
        try CatalogViews.rows(first.library.catalog, $0.name, $0.columns)
      },
      try CatalogViews.all.map {
        try CatalogViews.rows(second.library.catalog, $0.name, $0.columns)
      }
    )
    for (index, view) in CatalogViews.all.enumerated() {
      #expect(expected[index] == found[index], "\(view.name), seed \(Self.seed)")
    }
    for library in [first.library, second.library] {
      #expect(try library.integrity() == "ok", "seed \(Self.seed)")
    }
  }

  /// Makes a library by random steps, and says what came of each.
  private func walked() throws -> (
    library: Library, steps: [String], discarded: [Set<String>]
  ) {
    var random = SeededRandom(seed: Self.seed)
    let library = try Library()
    var steps: [String] = []
    var discarded: [Set<String>] = []
    var (claimed, next): ([ClaimedJob], Int) = ([], 1)
    try library.catalog.configure(Samples.stages())
    for _ in 0..<400 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0...2:
        let count = Int.random(in: 1...4, using: &random)
        // Some have the bytes of others.
        try library.add(
          (next..<next + count).map {
            Samples.asset($0, digest: Int.random(in: max(1, $0 - 3)...$0, using: &random))
          })
        next += count
      case 3...5:
        let stage = Bool.random(using: &random) ? "identify" : "thumbnails"
        let jobs = try library.catalog.claim(
          stage: stage, limit: Int.random(in: 1...5, using: &random),
          suspects: Bool.random(using: &random))
        claimed += jobs
        steps.append("claimed \(stage) \(jobs.map { "\($0.asset) \($0.attempt) \($0.facts)" })")
      case 6, 7:
        claimed.shuffle(using: &random)
        let some = claimed.prefix(Int.random(in: 0...4, using: &random))
        claimed.removeFirst(some.count)
        let completions = some.map { job -> Completion in
          let outcome: Completion.Outcome =
            switch Int.random(in: 0..<6, using: &random) {
            case 0: .failed(class: "permanent", reason: "Why.", retryAt: nil)
            case 1: .failed(class: "environment", reason: "Why.", retryAt: Samples.start)
            case 2: .skipped(reason: "No.")
            default:
              .done(
                facts: ["width": .integer(Int.random(in: 0...9, using: &random))],
                renditions: job.stage == "thumbnails"
                  ? [Samples.rendition("grid", path: "renditions/\(job.asset)")] : [])
            }
          return Completion(token: job.token, outcome: outcome, seconds: 1)
        }
        discarded.append(Set(try library.catalog.complete(completions)))
      case 8: steps.append("retried \(try library.catalog.retry(assets: nil))")
      case 9:
        let some = claimed.filter { _ in Bool.random(using: &random) }
        claimed.removeAll { job in some.contains { $0.token == job.token } }
        try library.catalog.requeue(some.map(\.token))
      case 10:
        guard next > 1 else { continue }
        let asset = Samples.id(Int.random(in: 1..<next, using: &random))
        let change: CatalogChange =
          switch Int.random(in: 0..<3, using: &random) {
          case 0: .trashed(asset, at: Samples.start)
          case 1: .restored(asset)
          default: .purged(asset, sequence: 1)
          }
        try library.catalog.apply([change], manifestPosition: 0)
      default:
        if Bool.random(using: &random) {
          try library.catalog.configure(
            Samples.stages(
              identify: Int.random(in: 1...2, using: &random),
              thumbnails: Int.random(in: 3...4, using: &random)))
        } else {
          try library.reopen()
          let failed = try library.catalog.configure(Samples.stages())
          claimed = []
          steps.append("failed \(failed.map(\.asset))")
        }
      }
      steps.append(
        "\(try library.catalog.backlog().mapValues { $0.map { "\($0)" }.sorted() }.sorted { $0.key < $1.key })"
      )
    }
    return (library, steps, discarded)
  }

  @Test(
    "A fact keeps U+0000, and rows for searches have U+FFFD in its place; a name keeps any bytes")
  func impossibleTexts() throws {
    try TestedDatabase.$current.withValue(.postgreSQL) {
      let library = try Library()
      try library.catalog.configure(SampleFile.stages)
      var asset = Samples.asset(1)
      asset.name = BytePath(bytes: [0x62, 0xE9, 0xFF])
      asset.path = asset.name
      try library.add([asset])
      for stage in ["identify", "metadata"] {
        let jobs = try library.catalog.claim(stage: stage, limit: 1, suspects: false)
        let facts: JSONValue =
          stage == "identify" ? ["mediaType": "image/jpeg"] : ["xmp": ["dc:title": "a\0b\\u0000"]]
        _ = try library.catalog.complete(
          jobs.map {
            Completion(token: $0.token, outcome: .done(facts: facts, renditions: []), seconds: 1)
          })
      }
      try library.read { reader in
        let found = try #require(try reader.asset(asset.id))
        #expect(found.name == asset.name)
        let values = try #require(try reader.assetValues(asset.id))
        #expect(values.texts[.title] == ["a\0b\\u0000"])
        let row = try reader.foundAssets([asset.id], withRenditions: false)
        #expect(row?.first?.title == "a\u{FFFD}b\\u0000")
        #expect(try reader.count(.text(.title, .contains("a\0b"))) == 1)
        #expect(try reader.assetLine(of: asset.id) == nil)
      }
      let shown = try library.catalog.read { (connection) throws(CatalogError) in
        try connection.first(
          "SELECT assets.name, metadata.value FROM assets JOIN metadata ON metadata.raw_asset = assets.raw_id"
        ) { [$0.text(0), $0.text(1)] }
      }
      #expect(shown == ["b\\351\\377", "a\u{FFFD}b\\u0000"])
    }
  }
}
