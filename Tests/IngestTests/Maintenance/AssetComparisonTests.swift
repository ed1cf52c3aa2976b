import Catalog
import Files
import Hashing
import Manifest
import PipelineModel
import Records
import Testing

@testable import Ingest

@Suite("Comparing manifest and catalog", .timeLimit(.minutes(1)))
struct AssetComparisonTests {
  private let library: RenderedLibrary
  private let digest = SHA256.digest(of: Array("picture".utf8))

  init() throws { library = try RenderedLibrary() }

  private func id(_ number: UInt8) throws -> AssetID {
    try #require(AssetID(bytes: [1] + [UInt8](repeating: 0, count: 14) + [number]))
  }

  private func stored(_ asset: AssetID, _ other: Digest? = nil) -> ManifestFact {
    let intent = ManifestFact.Intent(
      taking: asset, source: "/source", path: "b.jpg",
      identity: FileIdentity(inode: 1, size: 7, modified: 0, changed: 0), permissions: 0o644,
      moves: true, run: nil)
    return .stored(
      .init(asset: asset, digest: other ?? digest, intent: intent, supersedes: nil))
  }

  /// What `verify` says about it.
  private func messages(isLocked: Bool = false) throws -> [String] {
    let lock = isLocked ? try LibraryFolder.open(library.layout).lock() : nil
    let problems = try withExtendedLifetime(lock) { try library.problems() }
    #expect(problems.allSatisfy { $0.kind == .catalogDiffers })
    return problems.map(\.message)
  }

  @Test(
    "An asset that only the catalog has is reported, also beside a run", arguments: [false, true])
  func unknown(isLocked: Bool) throws {
    let asset = try id(1)
    try library.record(asset, digest: digest)
    let messages = try messages(isLocked: isLocked)
    #expect(messages.count == 1)
    #expect(messages.first?.hasPrefix("The catalog has the asset \(asset), the manifest") == true)
  }

  @Test("An asset that the manifest has deleted is reported if the catalog has it still")
  func deleted() throws {
    let asset = try id(1)
    try library.append([stored(asset), .purged(asset: asset, digest: digest)])
    #expect(try messages() == [])
    try library.record(asset, digest: digest)
    #expect(try messages().map { $0.contains("or has deleted it") } == [true])
  }

  @Test("An asset that only the manifest has is reported, unless it was deleted")
  func missing() throws {
    try library.append([stored(try id(1)), stored(try id(2))])
    try library.append([.purged(asset: try id(2), digest: digest)])
    #expect(
      try messages() == [
        "The manifest has the asset \(try id(1)), the catalog does not; `pipeline rebuild-catalog` follows "
          + "the manifest."
      ])
  }

  @Test("An asset with other bytes on both sides is reported")
  func otherBytes() throws {
    let asset = try id(1)
    let other = SHA256.digest(of: Array("other".utf8))
    try library.append([stored(asset)])
    try library.record(asset, digest: digest)
    #expect(try messages() == [])
    try library.catalog.apply([.purged(asset)], manifestPosition: 0)
    try library.record(asset, digest: other)
    let problems = try library.problems().filter { $0.kind == .catalogDiffers }
    #expect(problems.map(\.assets) == [[asset]])
  }

  @Test("A fact that comes twice, or that the catalog's position does not cover, is no problem")
  func oddFacts() throws {
    let (twice, later) = (try id(1), try id(2))
    try library.append([stored(twice), stored(twice)])
    try library.record(twice, digest: digest)
    try Manifest(folder: library.layout.manifest).append([stored(later)])
    try library.record(later, digest: digest)
    #expect(try messages() == [])
  }

  @Test("In rounds of one bucket all that differs is found")
  func rounds() throws {
    let (unknown, missing) = (try (1...9).map(id), try (11...19).map(id))
    for asset in unknown { try library.record(asset, digest: digest) }
    try library.append(missing.map { stored($0) })
    let reader = try CatalogReader.open(at: library.layout.catalog, immutable: false)
    let comparison = AssetComparison(
      manifest: library.layout.manifest, catalog: reader, step: { _ in }, roundSize: 0)
    var found: [AssetComparison.Difference] = []
    try comparison.run { found.append($0) }
    try reader.close()
    #expect(found.count == 18)
    #expect(Set(found.filter { $0.side == .catalog }.map(\.asset)) == Set(unknown))
    #expect(Set(found.filter { $0.side == .manifest }.map(\.asset)) == Set(missing))
  }

  @Test("What is stored and deleted while the catalog is read is no difference")
  func besideRun() throws {
    // The catalog is read twice, each time with steps after 2,048 and 4,096 assets, at ends of pages.
    var assets = try (0..<4_110).map { number in
      try newAsset([1, 0] + Self.bytes(of: number) + [UInt8](repeating: 0, count: 12))
    }
    assets.sort { $0.digest.hex < $1.digest.hex }
    try library.append(assets.map { stored($0.id, $0.digest) })
    try library.catalog.apply(assets.map { .asset($0) }, manifestPosition: 0)
    // Of the second page.
    let (one, other) = (assets[3_000], assets[3_001])
    let new = try newAsset([2] + [UInt8](repeating: 0, count: 15))
    func store(_ asset: NewAsset) throws {
      try change([stored(asset.id, asset.digest)], [.asset(asset)])
    }
    func delete(_ asset: NewAsset) throws {
      try change([.purged(asset: asset.id, digest: asset.digest)], [.purged(asset.id)])
    }
    let reader = try CatalogReader.open(at: library.layout.catalog, immutable: false)
    var moment = 0
    let comparison = AssetComparison(
      manifest: library.layout.manifest, catalog: reader,
      step: { step in
        // The manifest has more facts.
        guard step == .facts(0, of: 1) else { return }
        moment += 1
        switch moment {
        case 1:
          // Both are missing when their page is read, so they are compared one by one, too.
          try delete(one)
          try delete(other)
          try store(new)
        case 2:
          try store(other)
        case 4:
          // After their page was read.
          try store(one)
          try delete(other)
        default:
          break
        }
      }, stepSize: 2048)
    try comparison.run { Issue.record("\($0)") }
    #expect(moment == 4)
    try reader.close()
  }

  /// Does what a run does: the manifest first.
  private func change(_ facts: [ManifestFact], _ changes: [CatalogChange]) throws {
    let position = try Manifest(folder: library.layout.manifest).append(facts)
    try library.catalog.apply(changes, manifestPosition: position)
  }

  private static func bytes(of number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  /// An asset with a key of these bytes, and a digest of its own.
  private func newAsset(_ key: [UInt8]) throws -> NewAsset {
    NewAsset(
      id: try #require(AssetID(bytes: key)), digest: SHA256.digest(of: key), size: 1,
      name: "b.jpg", source: "/source", path: "b.jpg", modified: 0, permissions: 0o644,
      importedAt: .now)
  }
}
