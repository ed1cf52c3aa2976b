package import PipelineModel

/// What an asked-for picture shows: of which bytes, how large, which part, in which format.
package struct PictureKey: Hashable, Sendable {
  /// A file format of such pictures.
  package enum Format: String, CaseIterable, Sendable {
    case jpeg, webp, png, avif

    package var mediaType: String { "image/\(rawValue)" }
  }

  /// A part of the upright picture, in pixels before scaling.
  package struct Region: Hashable, Sendable {
    package var x: Int
    package var y: Int
    package var width: Int
    package var height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }
  }

  /// The original's digest.
  package var digest: Digest
  /// The most pixels of the longer side.
  package var maxPixelSize: Int
  /// `nil` for the whole picture.
  package var region: Region?
  package var format: Format

  package init(digest: Digest, maxPixelSize: Int, region: Region?, format: Format) {
    self.digest = digest
    self.maxPixelSize = maxPixelSize
    self.region = region
    self.format = format
  }

  /// The name of its file in the cache, equal for equal keys only.
  var fileName: BytePath {
    let part = region.map { "-\($0.x),\($0.y),\($0.width),\($0.height)" } ?? ""
    return BytePath("\(digest.hex)-\(maxPixelSize)\(part)-\(format.rawValue)")
  }

  /// The folder of its file, one of 256.
  var folderName: BytePath { Self.folderName(of: digest) }

  static func folderName(of digest: Digest) -> BytePath { BytePath(String(digest.hex.prefix(2))) }

  /// The byte whose lock keeps others from making the same picture meanwhile.
  var lockByte: Int64 {
    // FNV-1a: two keys that share a byte merely wait for each other.
    let hash = fileName.bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x0100_0000_01B3
    }
    return Int64(PictureCache.firstKeyByte) + Int64(hash >> 2)
  }
}
