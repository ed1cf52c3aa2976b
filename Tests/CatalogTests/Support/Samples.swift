import Catalog
import PipelineModel
import Records

/// Made-up values that are the same in every run.
enum Samples {
  static let source = BytePath("/pictures/inbox")
  static let start = Timestamp(microseconds: 1_700_000_000_123_456)

  /// The digest of the n-th content.
  static func digest(_ number: Int) -> Digest {
    // Thirty-two bytes by construction.
    // swift-format-ignore: NeverForceUnwrap
    Digest(bytes: spread(number, 32))!
  }

  /// The n-th fingerprint.
  static func fingerprint(_ number: Int) -> Fingerprint { Fingerprint(digest(number + 1_000_000)) }

  /// The n-th key; keys sort by their number.
  static func id(_ number: Int) -> AssetID {
    var bytes = spread(number, 16)
    for index in 0..<6 {
      bytes[index] = UInt8(truncatingIfNeeded: (0x018B_CFE5_6800 + number) >> (8 * (5 - index)))
    }
    bytes[6] = 0x70 | bytes[6] & 15
    bytes[8] = 0x80 | bytes[8] & 63
    // Sixteen bytes by construction.
    // swift-format-ignore: NeverForceUnwrap
    return AssetID(bytes: bytes)!
  }

  static func asset(_ number: Int, digest content: Int? = nil) -> NewAsset {
    let name = BytePath("IMG_\(number).jpg")
    return NewAsset(
      id: id(number), digest: digest(content ?? number), size: 1_000 + (content ?? number),
      name: name, source: source, path: BytePath("a/").appending(name),
      modified: 1_600_000_000_000_000_001,
      permissions: 0o640, importedAt: start.adding(seconds: Double(number)))
  }

  static func stage(
    _ name: String, plugin: String? = nil, fingerprint number: Int, needs: [String] = [],
    isAssetScoped: Bool = false, attempts: Int = 3, runtime: String = "1.0", limits: String = "{}"
  ) -> StageDefinition {
    StageDefinition(
      name: name, plugin: plugin ?? name, fingerprint: fingerprint(number),
      isAssetScoped: isAssetScoped, needs: needs, attempts: attempts, runtime: runtime,
      limits: limits)
  }

  /// The usual two stages.
  static func stages(identify: Int = 1, thumbnails: Int = 2) -> [StageDefinition] {
    [
      stage("identify", fingerprint: identify),
      stage("thumbnails", plugin: "thumbnail", fingerprint: thumbnails, needs: ["identify"]),
    ]
  }

  static func rendition(
    _ name: String, path: String? = nil, bytes: Int = 64, from: String = "image"
  ) -> NewRendition {
    NewRendition(
      name: name, mediaType: "image/jpeg", width: 256, height: 171, bytes: bytes,
      digest: digest(7_000 + bytes), from: from,
      content: path.map { .file(path: $0) } ?? .database([UInt8](repeating: 7, count: bytes)))
  }

  /// Bytes by a multiplication that spreads small numbers (SplitMix64).
  private static func spread(_ number: Int, _ count: Int) -> [UInt8] {
    var state = UInt64(truncatingIfNeeded: number)
    return (0..<count).map { _ in
      state &+= 0x9E37_79B9_7F4A_7C15
      var value = state
      value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
      return UInt8(truncatingIfNeeded: value >> 56)
    }
  }
}
