package import PipelineModel

/// What an asked-for picture shows: of which bytes, how large, which part, in which format.
package struct PictureKey: Hashable, Sendable {
  /// A file format of such pictures.
  package enum Format: String, CaseIterable, Codable, Sendable {
    case jpeg, webp, png, avif

    package var mediaType: String { "image/\(rawValue)" }
  }

  /// A part of the upright picture, in pixels before scaling.
  package struct Region: Hashable, Codable, Sendable {
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

  /// Pixels.
  package struct Size: Hashable, Codable, Sendable {
    package var width: Int
    package var height: Int

    package init(width: Int, height: Int) {
      self.width = width
      self.height = height
    }

    package var longest: Int { max(width, height) }
  }

  /// What is done with a picture when it has its size; the words are those of IIIF's Image API.
  package struct Finish: Hashable, Codable, Sendable {
    /// Degrees clockwise.
    package enum Rotation: Int, CaseIterable, Codable, Sendable {
      case none = 0
      case quarter = 90
      case half = 180
      case threeQuarters = 270
    }

    package enum Quality: String, CaseIterable, Codable, Sendable { case color, gray, bitonal }

    package var rotation: Rotation
    /// Whether it is mirrored left to right, before it is turned.
    package var isMirrored: Bool
    package var quality: Quality

    package init(
      rotation: Rotation = .none, isMirrored: Bool = false, quality: Quality = .color
    ) {
      self.rotation = rotation
      self.isMirrored = isMirrored
      self.quality = quality
    }

    /// Whether nothing is done.
    package var isNothing: Bool { self == Finish() }

    /// Its part of a file's name.
    fileprivate var fileName: String {
      (isMirrored ? "-mirrored" : "") + (rotation == .none ? "" : "-r\(rotation.rawValue)")
        + (quality == .color ? "" : "-\(quality.rawValue)")
    }
  }

  /// The original's digest.
  package var digest: Digest
  /// The most pixels of the longer side.
  package var maxPixelSize: Int
  /// `nil` for the whole picture.
  package var region: Region?
  package var format: Format
  /// The exact size before it is turned, whatever the shape of what is shown; `nil` for that shape.
  package var size: Size?
  package var finish: Finish

  package init(
    digest: Digest, maxPixelSize: Int, region: Region?, format: Format, size: Size? = nil,
    finish: Finish = Finish()
  ) {
    self.digest = digest
    self.maxPixelSize = maxPixelSize
    self.region = region
    self.format = format
    self.size = size
    self.finish = finish
  }

  /// The name of its file in the cache, equal for equal keys only.
  var fileName: BytePath {
    let part = region.map { "-\($0.x),\($0.y),\($0.width),\($0.height)" } ?? ""
    let exact = size.map { "-\($0.width)x\($0.height)" } ?? ""
    return BytePath(
      "\(digest.hex)-\(maxPixelSize)\(part)\(exact)\(finish.fileName)-\(format.rawValue)")
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
