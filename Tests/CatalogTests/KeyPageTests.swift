import PipelineModel
import Records
import Testing

@testable import Catalog

@Suite("Pages of keys", .onEachDatabase, .timeLimit(.minutes(5)))
struct KeyPageTests {
  private let pageSize = CatalogReader.keysPageSize

  /// The n-th asset, whose digest begins with a byte.
  private func asset(_ number: Int, _ byte: UInt8) throws -> NewAsset {
    var asset = Samples.asset(number)
    asset.digest = try #require(Digest(bytes: [byte] + asset.digest.bytes.dropFirst()))
    return asset
  }

  private func sorted(_ assets: [NewAsset]) -> [NewAsset] {
    assets.sorted { $0.digest.bytes.lexicographicallyPrecedes($1.digest.bytes) }
  }

  /// Records files `renditions/s/00001` and so on, of which each second one is discarded.
  private func addFiles(_ count: Int, to library: Library) throws {
    try library.catalog.configure([Samples.stage("s", fingerprint: 1)])
    try library.add([Samples.asset(1)])
    let files = """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)),
        file AS (SELECT i, 'renditions/s/' || substr('' || (100000 + i), 2) AS path FROM n)
      """
    let digest = "x'\(String(repeating: "00", count: 32))'"
    try library.execute(
      """
      INSERT INTO rendition (ledger, name, media_type, width, height, bytes, digest, path)
      \(files) SELECT (SELECT min(id) FROM ledger), '' || i, '', 1, 1, 1, \(digest), path
      FROM file WHERE i % 2 = 1
      """)
    try library.execute(
      """
      INSERT INTO discarded_file (path, fingerprint, digest)
      \(files) SELECT path, (SELECT min(id) FROM fingerprint), \(digest)
      FROM file WHERE i % 2 = 0
      """)
  }

  private func path(_ number: Int) -> String {
    let digits = String(number)
    return "renditions/s/" + String(repeating: "0", count: 5 - digits.count) + digits
  }

  /// Makes a discarded file of a rendition's.
  private func discard(_ path: String, of library: Library) throws {
    try library.execute(
      """
      INSERT INTO discarded_file (path, fingerprint, digest)
      SELECT path, (SELECT min(id) FROM fingerprint), digest FROM rendition WHERE path = '\(path)'
      """)
    #expect(try library.execute("DELETE FROM rendition WHERE path = '\(path)'") == 1)
  }

  /// Makes a rendition's file of a discarded one.
  private func keep(_ path: String, of library: Library) throws {
    try library.execute(
      """
      INSERT INTO rendition (ledger, name, media_type, width, height, bytes, digest, path)
      SELECT (SELECT min(id) FROM ledger), path, '', 1, 1, 1, digest, path
      FROM discarded_file WHERE path = '\(path)'
      """)
    #expect(try library.execute("DELETE FROM discarded_file WHERE path = '\(path)'") == 1)
  }

  @Test("Several pages of assets are given whole, each asset once")
  func assets() throws {
    let library = try Library()
    let (first, last) = (try asset(1, 6), try asset(2, 8))
    let between = try (3...(2 * pageSize + 2)).map { try asset($0, 7) }
    // Many with the same bytes, on both sides of the end of a page.
    let last7 = try #require(sorted(between).last)
    let same = (1...pageSize).map {
      var asset = Samples.asset(10_000 + $0)
      (asset.digest, asset.size) = (last7.digest, last7.size)
      return asset
    }
    try library.add([first, last] + between + same)
    try library.read { reader throws in
      var digests: [Digest] = []
      try reader.originals(beginningWith: 7) { digests.append($0) }
      #expect(digests == sorted(between).map(\.digest))
      var ids: [AssetID] = []
      _ = try reader.assetDigests { id, _ in ids.append(id) }
      let middle = sorted(between).dropLast().map(\.id)
      #expect(ids == [first.id] + middle + ([last7] + same).map(\.id) + [last.id])
    }
  }

  @Test("Assets created and deleted meanwhile belong to facts after the position returned")
  func changedAssets() throws {
    let library = try Library()
    let assets = try sorted((1...(pageSize + 2)).map { try asset($0, 7) })
    try library.add(assets)
    let position = try library.catalog.manifestPosition
    let (first, last) = (assets[0], assets[assets.count - 1])
    try library.read { reader throws in
      var ids: [AssetID] = []
      let returned = try reader.assetDigests { id, _ in
        if ids.isEmpty {
          try library.catalog.apply(
            [
              .purged(first.id), .purged(last.id), .asset(try asset(pageSize + 3, 8)),
            ], manifestPosition: position + 3)
        }
        ids.append(id)
      }
      #expect(returned == position)
      // The new one sorts after the newest of the beginning, so it is not compared for nothing.
      #expect(ids == assets.dropLast().map(\.id))
      #expect(try reader.assetDigests { _, _ in } == position + 3)
    }
  }

  @Test("Several pages of files are given whole, in order, and nothing beside their folder")
  func files() throws {
    let library = try Library()
    let count = 2 * pageSize + 1
    try addFiles(count, to: library)
    // Both a rendition and discarded, at the end of a page.
    try library.execute(
      """
      INSERT INTO discarded_file (path, fingerprint, digest)
      SELECT path, (SELECT min(id) FROM fingerprint), digest FROM rendition
      WHERE path IN ('\(path(pageSize - 1))', '\(path(pageSize + 1))')
      """)
    try library.read { reader throws in
      var paths: [String] = []
      try reader.renditionFiles(below: "renditions/s") {
        if paths.last != $0 { paths.append($0) }
      }
      #expect(paths == (1...count).map(path))
      for other in ["renditions/", "renditions/s/0", "renditions/r", "rendition"] {
        try reader.renditionFiles(below: other) { Issue.record("\($0) below \(other)") }
      }
    }
  }

  @Test("A file that is discarded or kept between two pages is not missed")
  func movedFiles() throws {
    let library = try Library()
    let count = 2 * pageSize
    try addFiles(count, to: library)
    try library.read { reader throws in
      var paths: [String] = []
      try reader.renditionFiles(below: "renditions/s") {
        if paths.isEmpty {
          // At the beginning, which was read, and at the end, which was not.
          for number in [1, count - 1] { try discard(path(number), of: library) }
          for number in [2, count] { try keep(path(number), of: library) }
        }
        paths.append($0)
      }
      #expect(paths == (1...count).map(path))
    }
  }
}
