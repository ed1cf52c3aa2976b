import Foundation
import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("Changes", .onEachDatabase, .timeLimit(.minutes(5)))
struct ChangeTests {
  private func sighting(
    _ path: String, _ state: Sighting.State = .imported, asset: AssetID? = nil,
    awaitsRemoval: Bool = false
  ) -> Sighting {
    Sighting(
      source: Samples.source, path: BytePath(path), state: state,
      identity: FileIdentity(
        inode: .max - 5, size: 12, modified: -1_500_000_000, changed: 1_700_000_000_000_000_007),
      asset: asset, reason: "Because.", seenAt: Samples.start, awaitsRemoval: awaitsRemoval)
  }

  @Test("What was recorded is read as it was")
  func roundTrip() throws {
    let library = try Library()
    var asset = Samples.asset(1)
    asset.name = BytePath(bytes: [0xFF, 0x0A, 0x2D])
    asset.path = "a/b"
    let seen = sighting("a/b", asset: asset.id, awaitsRemoval: true)
    // The sighting may stand before its asset.
    try library.catalog.apply([.sighting(seen), .asset(asset)], manifestPosition: 77)
    #expect(try library.catalog.sighting(source: Samples.source, path: BytePath("a/b")) == seen)
    #expect(try library.catalog.sighting(source: Samples.source, path: BytePath("a")) == nil)
    #expect(try library.catalog.hasOriginal(asset.digest))
    #expect(try !library.catalog.hasOriginal(Samples.digest(2)))
    #expect(try library.catalog.assets(with: asset.digest) == [asset.id])
    #expect(try library.catalog.newestAssetID() == asset.id)
    try library.read { reader throws in
      let record = try #require(try reader.asset(asset.id))
      #expect(record.name == asset.name && record.path == asset.path && record.size == asset.size)
      #expect(record.source == asset.source && record.modified == asset.modified)
      #expect(record.importedAt == asset.importedAt && record.digest == asset.digest)
      #expect(try reader.lastManifestPosition == 77)
      #expect(try reader.sightings(of: asset.id) == [seen])
      #expect(try reader.asset(Samples.id(2)) == nil)
    }
  }

  @Test("A new catalog is empty")
  func emptyCatalog() throws {
    let library = try Library()
    #expect(try library.catalog.manifestPosition == 0)
    #expect(try library.catalog.newestAssetID() == nil)
    #expect(try library.catalog.sightings(of: Samples.source).next() == nil)
    try library.read { reader throws in
      try reader.assets { _ in Issue.record("There is an asset.") }
      #expect(try reader.status().assets == 0 && reader.failures().isEmpty)
    }
  }

  @Test("Applying the same changes twice changes nothing, and the position only grows")
  func twice() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    var second = Samples.asset(2, digest: 1)
    second.supersedes = Samples.id(1)
    let changes: [CatalogChange] = [
      .asset(Samples.asset(1)), .asset(second),
      .sighting(sighting("a", asset: Samples.id(1), awaitsRemoval: true)),
      .sourceRemoved(source: Samples.source, path: BytePath("a")),
      .sourceRemoved(source: BytePath("/unknown"), path: BytePath("a")),
    ]
    try library.catalog.apply(changes, manifestPosition: 50)
    let jobs = try library.catalog.claim(stage: "identify", limit: 9, suspects: false)
    _ = try library.catalog.complete(
      jobs.map {
        Completion(token: $0.token, outcome: .done(facts: [:], renditions: []), seconds: 1)
      })
    try library.makeQuote()
    func dump() throws -> [String] {
      var lines: [String] = []
      for table in ["asset", "original", "sighting", "job", "ledger", "source"] {
        lines += try library.catalog.read { (connection) throws(CatalogError) in
          let columns = try connection.all(Library.columns(of: table, connection)) { $0.text(0) }
          let quoted = columns.map { "quote(\($0))" }.joined(separator: " || ',' || ")
          return try connection.all("SELECT \(quoted) FROM \(table)") { $0.text(0) }
        }
      }
      return lines
    }
    let before = try dump()
    #expect(before.count == 1 + 2 + 1 + 4 + 2 + 1)
    try library.catalog.apply(changes, manifestPosition: 40)
    #expect(try dump() == before)
    #expect(try library.catalog.manifestPosition == 50)
    try library.reopen()
    #expect(try library.catalog.manifestPosition == 50)
    #expect(try dump() == before)
  }

  @Test("A later sighting replaces an earlier one, and references to nothing become none")
  func replaced() throws {
    let library = try Library()
    var asset = Samples.asset(1)
    asset.supersedes = Samples.id(8)
    asset.run = Samples.id(9)
    try library.catalog.apply(
      [.asset(asset), .sighting(sighting("a", .settling, asset: Samples.id(7)))],
      manifestPosition: 1)
    #expect(try library.read { try $0.asset(asset.id)?.supersedes } == nil)
    let first = try library.catalog.sighting(source: Samples.source, path: BytePath("a"))
    #expect(first?.state == .settling && first?.asset == nil)
    var next = sighting("a", .gone)
    next.identity = nil
    next.reason = nil
    try library.catalog.apply([.sighting(next)], manifestPosition: 2)
    #expect(try library.catalog.sighting(source: Samples.source, path: BytePath("a")) == next)
  }

  @Test("A batch of changes is kept whole or not at all")
  func atomic() throws {
    let library = try Library()
    var bad = Samples.asset(2)
    bad.size = -1
    let error = #expect(throws: CatalogError.self) {
      try library.catalog.apply([.asset(Samples.asset(1)), .asset(bad)], manifestPosition: 9)
    }
    // Bound values are not in the message.
    #expect(error?.message.contains("IMG_2") == false)
    #expect(try library.catalog.newestAssetID() == nil)
    #expect(try library.catalog.manifestPosition == 0)
    try library.add([Samples.asset(1)])
    #expect(try library.catalog.newestAssetID() == Samples.id(1))
  }

  @Test("The cursor gives a source's sightings in byte order, page by page")
  func cursor() throws {
    let library = try Library()
    var paths: [BytePath] = []
    for number in 0..<3000 {
      let bytes: [Int] = [number % 250 + 1, number / 3 % 200 + 1]
      paths.append(BytePath(bytes: bytes.map { UInt8($0) }))
    }
    paths += [BytePath("a"), BytePath("a/b"), BytePath("a b"), BytePath(bytes: [0xFF])]
    paths = Array(Set(paths))
    let other = Sighting(
      source: BytePath("/other"), path: BytePath("a"), state: .gone, seenAt: Samples.start)
    var changes: [CatalogChange] = [.sighting(other)]
    for (index, path) in paths.enumerated() {
      changes.append(
        .sighting(
          Sighting(
            source: Samples.source, path: path, state: .ignored, seenAt: Samples.start,
            awaitsRemoval: index.isMultiple(of: 3))))
    }
    try library.catalog.apply(changes, manifestPosition: 1)
    let cursor = try library.catalog.sightings(of: Samples.source)
    #expect(paths.count > 2048)
    var found: [BytePath] = []
    var awaiting = 0
    while let seen = try cursor.next() {
      found.append(seen.path)
      if seen.awaitsRemoval { awaiting += 1 }
    }
    #expect(found == paths.sorted())
    #expect(try cursor.next() == nil)
    #expect(awaiting == (paths.count + 2) / 3)
    #expect(try library.catalog.sightings(of: BytePath("/unknown")).next() == nil)
  }

  @Test("A full disk undoes the transaction, and the catalog heals when there is room", .onlySQLite)
  func noSpace() throws {
    let library = try Library()
    try library.catalog.configure(Samples.stages())
    try library.add([Samples.asset(1)])
    let pages = try library.count("PRAGMA page_count")
    _ = try library.count("PRAGMA max_page_count = \(pages + 4)")
    let error = #expect(throws: CatalogError.self) {
      try library.add((2...2_000).map { Samples.asset($0) })
    }
    #expect(error?.code == .noSpace)
    #expect(error?.message.contains("Make space") == true)
    #expect(try library.count("SELECT count(*) FROM asset") == 1)
    #expect(try library.integrity() == "ok")
    _ = try library.count("PRAGMA max_page_count = 1000000")
    try library.add((2...2_000).map { Samples.asset($0) })
    #expect(try library.count("SELECT count(*) FROM job") == 4_000)
  }

  @Test("Runs and settings are kept")
  func runsAndSettings() throws {
    let library = try Library()
    let catalog = library.catalog
    let ended = RunRecord(id: Samples.id(1), verb: "run", startedAt: Samples.start)
    try catalog.beginRun(ended)
    try catalog.beginRun(
      RunRecord(id: Samples.id(2), verb: "import", startedAt: Samples.start.adding(seconds: 9)))
    #expect(try library.read { try $0.status().lastRun } == nil)
    let end = Samples.start.adding(seconds: 5)
    try catalog.endRun(ended.id, counters: ["imported": 3, "gone": 0], at: end)
    let last = try #require(try library.read { try $0.status().lastRun })
    #expect(last.id == ended.id && last.verb == "run" && last.endedAt == end)
    #expect(last.counters == ["imported": 3, "gone": 0])
    try catalog.set("library", to: "mine")
    try catalog.set("verify", to: "12")
    try catalog.set("verify", to: "13")
    try library.reopen()
    #expect(try library.catalog.setting("verify") == "13")
    try library.catalog.set("verify", to: nil)
    #expect(try library.catalog.setting("verify") == nil)
  }
}
