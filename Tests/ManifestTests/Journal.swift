import Files
import Fixtures
import Glibc
import PipelineModel

@testable import Manifest

/// A journal in a temporary folder, with a way behind it.
struct Journal {
  let temporary: TemporaryFolder

  init() throws { temporary = try TemporaryFolder() }

  var folder: BytePath { temporary.path }

  func open(segmentSize: Int = Manifest.segmentSize) throws -> Manifest {
    try Manifest(folder: folder, segmentSize: segmentSize)
  }

  /// All facts behind a place, read by a journal that was opened for it.
  func facts(after sequence: Int64 = 0) throws -> [ManifestFact] {
    var facts: [ManifestFact] = []
    var cursor = try open().entries(after: sequence)
    while let entry = try cursor.next() { facts.append(entry.fact) }
    return facts
  }

  func segments() throws -> [Int] {
    try Descriptor.openFolder(folder).entries()
      .compactMap { ManifestSegment.number(of: $0.name) }.sorted()
  }

  func bytes(of segment: Int) throws -> [UInt8] {
    try Descriptor.openFolder(folder).readFile(ManifestSegment.name(of: segment))
  }

  func lines(of segment: Int) throws -> [[UInt8]] {
    try bytes(of: segment).split(separator: UInt8(ascii: "\n")).map { Array($0) }
  }

  func write(_ bytes: [UInt8], to segment: Int) throws {
    try Descriptor.openFolder(folder).writeDurably(bytes, as: ManifestSegment.name(of: segment))
  }

  func remove(_ segment: Int) throws {
    try Descriptor.openFolder(folder).remove(ManifestSegment.name(of: segment))
  }

  static func id(_ number: Int) -> AssetID {
    let tail = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    // Sixteen bytes by construction.
    // swift-format-ignore: NeverForceUnwrap
    return AssetID(bytes: [1, 0x8B, 0xCF, 0xE5, 0x68, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0] + tail)!
  }

  static func digest(_ number: UInt8) -> Digest {
    // Thirty-two bytes by construction.
    // swift-format-ignore: NeverForceUnwrap
    Digest(bytes: [UInt8](repeating: number, count: 32))!
  }

  static func intent(
    _ number: Int, path: BytePath, source: BytePath = "/source"
  ) -> ManifestFact.Intent {
    ManifestFact.Intent(
      taking: id(number), source: source, path: path,
      identity: FileIdentity(
        inode: .max, size: 1 << 40, modified: -1, changed: 1_700_000_000_123_456_789),
      permissions: 0o640, moves: number.isMultiple(of: 2), run: id(900))
  }

  static var everyKind: [ManifestFact] {
    [
      .intent(intent(1, path: "a/b.jpg")),
      .stored(
        .init(
          asset: id(2), digest: digest(3), intent: intent(1, path: "a/b.jpg"), supersedes: id(4))),
      .duplicate(
        .init(
          asset: id(2), digest: digest(3), action: .filed, intent: intent(5, path: "a/c.jpg"))),
      .abandoned(taking: id(6), reason: "It was changed\nwhile it was taken. “é”"),
      .stored(
        .init(asset: id(7), digest: digest(8), intent: intent(7, path: "d"), supersedes: nil)),
      .trashed(asset: id(7)), .restored(asset: id(7)), .purged(asset: id(2), digest: digest(3)),
      .annotated(asset: id(7), Annotation(.caption, "Two lines,\n“é” and \\")),
      .annotated(asset: id(7), Annotation(.tag, "draft", applies: false)),
      .annotated(asset: id(7), Annotation(.title, "", applies: false)), .retried(asset: id(7)),
      .returning(
        .init(
          asset: id(7), digest: digest(8), action: .renamed, place: intent(8, path: "d"))),
      .returned(
        .init(asset: id(7), digest: digest(8), action: .left, place: intent(9, path: "d"))),
      .returned(
        .init(
          asset: id(10), digest: digest(8), action: .copied,
          place: intent(10, path: BytePath(bytes: [0xFF])))),
    ]
  }
}
