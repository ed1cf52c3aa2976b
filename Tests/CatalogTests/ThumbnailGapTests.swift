import PipelineModel
import Query
import Records
import Testing

@testable import Catalog

/// Why assets are kept without a thumbnail.
@Suite("Assets without a thumbnail", .onEachDatabase, .timeLimit(.minutes(5)))
struct ThumbnailGapTests {
  private let library: Library
  private static let stages = [
    Samples.stage("identify", fingerprint: 1),
    Samples.stage("thumbnails", plugin: "thumbnail", fingerprint: 2, needs: ["identify"]),
    Samples.stage("posters", plugin: "command", fingerprint: 3),
  ]

  /// Ten assets: one each with a thumbnail, of two unsupported types, with a lack, with nothing to
  /// show, broken, tried again later, unidentified, waiting, and unsupported but with a poster.
  init() throws {
    library = try Library()
    try library.catalog.configure(Self.stages)
    try library.add((1...10).map { Samples.asset($0) })
    let types = [2: "application/zip", 3: "text/plain", 10: "application/zip"]
    try complete("identify") { number in
      number == 8
        ? .failed(class: "permanent", reason: "It is cut off.", retryAt: nil)
        : .done(facts: ["mediaType": .string(types[number] ?? "image/jpeg")], renditions: [])
    }
    try complete("thumbnails", seconds: 0, only: [2, 3, 4, 10]) { number in
      number == 4
        ? .skipped(reason: "Install libraw-dev.", class: "environment")
        : .skipped(reason: "The plugin thumbnail does not work on it.")
    }
    try complete("thumbnails", only: [1, 5, 6, 7]) { number in
      switch number {
      case 1: .done(facts: [:], renditions: [Samples.rendition("grid")])
      case 5: .skipped(reason: "It has no cover.")
      case 6: .failed(class: "permanent", reason: "Broken.", retryAt: nil)
      default:
        .failed(class: "transient", reason: "Crashed.", retryAt: .now.adding(seconds: 60))
      }
    }
    try complete("posters") { number in
      .done(facts: [:], renditions: number == 10 ? [Samples.rendition("poster", bytes: 65)] : [])
    }
  }

  private func complete(
    _ stage: String, seconds: Double = 1, only numbers: Set<Int>? = nil,
    _ outcome: (Int) -> Completion.Outcome
  ) throws {
    let assets = Dictionary(uniqueKeysWithValues: (1...10).map { (Samples.id($0), $0) })
    let jobs = try library.catalog.claim(stage: stage, limit: 100, suspects: false).map {
      ($0, assets[$0.asset] ?? 0)
    }
    let chosen = jobs.filter { numbers?.contains($0.1) ?? true }
    try library.catalog.requeue(
      jobs.filter { !(numbers?.contains($0.1) ?? true) }.map(\.0.token))
    _ = try library.catalog.complete(
      chosen.map { Completion(token: $0.0.token, outcome: outcome($0.1), seconds: seconds) })
  }

  private static let causes: [Int: ThumbnailGap.Cause] = [
    2: .unsupported, 3: .unsupported, 4: .unavailable, 5: .empty, 6: .failed, 7: .failed,
    8: .blocked,
  ]

  private func counts() throws -> ThumbnailGapCounts {
    try library.read { try $0.status().withoutThumbnail }
  }

  private func found() throws -> [AssetID] {
    try library.read { reader in
      var found: [AssetID] = []
      try AssetSearch(.flag(.withoutThumbnail)).run(in: reader, damaged: [], need: .keys) { id, _ in
        found.append(id)
      }
      return found
    }
  }

  @Test("Each asset says why it has none, as a record, as a line of JSON and to a search")
  func each() throws {
    try library.read { reader in
      var reasons: [Int: String] = [:]
      for number in 1...10 {
        let asset = try #require(try reader.asset(Samples.id(number)))
        #expect(asset.withoutThumbnail?.cause == Self.causes[number], "\(number)")
        reasons[number] = asset.withoutThumbnail?.reason
        let line = try #require(try reader.assetLine(of: Samples.id(number)))
        let gap = try JSONText.decode(JSONValue.self, from: line)["withoutThumbnail"]
        #expect(gap?["cause"]?.string == Self.causes[number]?.rawValue, "\(number)")
        #expect(gap?["reason"]?.string == reasons[number])
        #expect(gap == .null || gap?["stage"] == "thumbnails")
      }
      #expect(reasons[4] == "Install libraw-dev." && reasons[7] == "Crashed.")
      let identify = "The stage “identify”, which this one needs, failed: It is cut off."
      #expect(reasons[8] == identify)
      let found = try found()
      #expect(found == Self.causes.keys.sorted().map { Samples.id($0) })
      var listed: [AssetID] = []
      try reader.assetValues(after: nil, withMetadata: false) { id, values in
        if values.flags.contains(.withoutThumbnail) { listed.append(id) }
      }
      #expect(listed == found)
    }
  }

  @Test("They are counted by cause, and those of unsupported types by type")
  func counted() throws {
    let counts = try counts()
    #expect(counts.assets == 7 && !counts.isPartial)
    #expect(
      Dictionary(uniqueKeysWithValues: counts.causes.map { ($0.cause, $0.assets) })
        == [.unsupported: 2, .unavailable: 1, .empty: 1, .failed: 2, .blocked: 1])
    let types = counts.groups.filter { $0.cause == .unsupported }.map(\.mediaType)
    #expect(types == ["application/zip", "text/plain"])
    #expect(counts.groups.compactMap(\.reason) == ["Install libraw-dev."])
    try library.catalog.apply([.trashed(Samples.id(2), at: .now)], manifestPosition: 99)
    #expect(try self.counts().assets == 6)
  }

  @Test("A type that the stage's own accepts leaves out is told apart from an unsupported one")
  func excluded() throws {
    let reason = "The “accepts” of the stage thumbnails leaves out image/jpeg."
    try complete("thumbnails", seconds: 0) { _ in .skipped(reason: reason, class: "permanent") }
    let gap = ThumbnailGap(cause: .excluded, stage: "thumbnails", reason: reason)
    #expect(try library.read { try $0.asset(Samples.id(9)) }?.withoutThumbnail == gap)
    let groups = try counts().groups.filter { $0.cause == .excluded }
    #expect(groups == [.init(cause: .excluded, mediaType: "image/jpeg", reason: nil, assets: 1)])
    #expect(try found().contains(Samples.id(9)))
  }

  @Test("For want of a rendition to work on, a stage is blocked by the one that made none")
  func withoutInput() throws {
    let reason = "It has no rendition “raw/large”, which this stage works on."
    try complete("thumbnails", seconds: 0) { _ in .skipped(reason: reason, class: "transient") }
    let gap = ThumbnailGap(cause: .blocked, stage: "thumbnails", reason: reason)
    #expect(try library.read { try $0.asset(Samples.id(9)) }?.withoutThumbnail == gap)
    #expect(try counts().causes.contains { $0 == (.blocked, 2) })
    #expect(try found().contains(Samples.id(9)))
  }

  @Test("A sheet of a film's frames is no thumbnail, and an animation is one")
  func sheets() throws {
    let sheets = Samples.stage("sheets", plugin: "thumbnail", fingerprint: 4, needs: ["identify"])
    try library.catalog.configure(Self.stages + [sheets])
    try complete("sheets") { number in
      .done(
        facts: [:],
        renditions: [Samples.rendition("a", bytes: 66, from: number == 5 ? "image" : "sprites")])
    }
    let gaps = try library.read { reader in
      try (1...10).filter { try reader.asset(Samples.id($0))?.withoutThumbnail != nil }
    }
    #expect(gaps == [2, 3, 4, 6, 7, 8])
    #expect(try found() == gaps.map { Samples.id($0) })
    #expect(try counts().assets == gaps.count)
  }

  @Test("Nothing is missing while one of two thumbnail stages may still make one")
  func second() throws {
    let small = Samples.stage("small", plugin: "thumbnail", fingerprint: 4, needs: ["identify"])
    try library.catalog.configure(Self.stages + [small])
    // Only the file that could not be identified keeps a gap: its second stage is blocked, too.
    func gaps() throws -> [Int] {
      try library.read { reader in
        try (1...10).filter { try reader.asset(Samples.id($0))?.withoutThumbnail != nil }
      }
    }
    #expect(try gaps() == [8])
    #expect(try counts().causes.map(\.cause) == [.blocked])
    #expect(try found() == [Samples.id(8)])
    let claimed = try library.catalog.claim(stage: "small", limit: 100, suspects: false)
    #expect(try gaps() == [8])
    try library.catalog.requeue(claimed.map(\.token))
    try complete("small") { number in
      number == 3
        ? .done(facts: [:], renditions: [Samples.rendition("small", bytes: 66)])
        : .skipped(reason: "Too small.")
    }
    #expect(try gaps() == [2, 4, 5, 6, 7, 8])
    #expect(try counts().assets == 6)
    #expect(try found() == [2, 4, 5, 6, 7, 8].map { Samples.id($0) })
  }

  @Test("A search for gaps reads no rows that wait for their first attempt", .onlySQLite)
  func plan() throws {
    for query in [ThumbnailGapQuery.assets, ThumbnailGapQuery.counts(.sqlite)] {
      let plan = try library.catalog.read { (connection) throws(CatalogError) in
        try connection.all("EXPLAIN QUERY PLAN \(query)") { $0.text(3) }
      }
      let claims = plan.filter { $0.contains("ledger_claim") }
      #expect(claims.count == 2, "\(plan.joined(separator: "\n"))")
      #expect(claims.contains { $0.hasSuffix("(fingerprint=? AND state=?)") })
      #expect(claims.contains { $0.hasSuffix("(fingerprint=? AND state=? AND not_before>?)") })
    }
  }

  @Test("A job that was tried and cancelled, or interrupted, keeps its gap")
  func cancelled() throws {
    // As if the time of the next attempt had come.
    let isTried = "state = 'ready' AND class = 'transient'"
    try library.execute("UPDATE ledger SET not_before = 5 WHERE \(isTried)")
    let tried = Samples.id(7)
    func claim() throws -> [ClaimedJob] {
      try library.catalog.claim(stage: "thumbnails", limit: 100, suspects: false)
    }
    let claimed = try claim()
    #expect(claimed.contains { $0.asset == tried })
    #expect(try !found().contains(tried))
    try library.catalog.requeue(claimed.map(\.token))
    #expect(try found().contains(tried))
    #expect(try counts().causes.contains { $0 == (.failed, 2) })
    _ = try claim()
    try library.reopen()
    try library.catalog.configure(Self.stages)
    #expect(try found().contains(tried))
    #expect(try library.read { try $0.asset(tried) }?.withoutThumbnail?.cause == .failed)
  }

  @Test("No more than some are counted, and then it is said that there are more")
  func bounded() throws {
    let counts = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.thumbnailGaps(most: 3)
    }
    #expect(counts.isPartial && counts.assets <= 4)
    let all = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.thumbnailGaps(most: 8)
    }
    #expect(!all.isPartial && all.assets == 7)
    // Also if none of those that were read has a gap.
    try library.catalog.apply(
      (1...10).map { .trashed(Samples.id($0), at: .now) }, manifestPosition: 99)
    let none = try library.catalog.read { (connection) throws(CatalogError) in
      try connection.thumbnailGaps(most: 3)
    }
    #expect(none.isPartial && none.assets == 0)
  }

  @Test("Once a stage is held, what waits for it counts, with what the stage lacks")
  func held() throws {
    try library.catalog.hold(stage: "thumbnails", because: "The plugin is gone.")
    let counts = try counts()
    #expect(
      counts.groups.first { $0.reason == "The plugin is gone." }?.assets == 2, "\(counts.groups)")
    #expect(
      try library.read { try $0.asset(Samples.id(9)) }?.withoutThumbnail
        == ThumbnailGap(cause: .unavailable, stage: "thumbnails", reason: "The plugin is gone."))
  }

  @Test("A stale thumbnail is one")
  func stale() throws {
    var stages = Self.stages
    stages[1].fingerprint = Samples.fingerprint(20)
    try library.catalog.configure(stages)
    try complete("thumbnails") { _ in
      .failed(class: "permanent", reason: "Broken.", retryAt: nil)
    }
    #expect(try library.read { try $0.asset(Samples.id(1)) }?.withoutThumbnail == nil)
    #expect(try library.read { try $0.asset(Samples.id(2)) }?.withoutThumbnail?.cause == .failed)
  }
}
