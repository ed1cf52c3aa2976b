import Ingest
import PipelineModel
import Records

/// What `info.json` says of an image. Source: IIIF Image API 3.0, section 5.
struct ImageInformation: Sendable {
  /// The address of the image.
  let id: String
  let size: PictureKey.Size
  /// The most pixels of a side of what is handed out.
  let most: Int

  static let context = "http://iiif.io/api/image/3/context.json"
  static let profile = "http://iiif.io/api/image/3/level2.json"
  /// The longest side of a tile, in pixels.
  var tile: Int { Self.tile(most) }
  /// The longest side that viewers show as a whole.
  private static let smallest = 64

  /// The size of an asset's upright picture; `nil` if it has none.
  static func size(of asset: AssetRecord) -> PictureKey.Size? {
    guard let width = asset.identity?["width"]?.integer,
      let height = asset.identity?["height"]?.integer, width > 0, height > 0
    else { return nil }
    return .init(width: width, height: height)
  }

  private static func tile(_ most: Int) -> Int { min(512, most) }

  /// The size of the smallest tile, which has the whole image.
  static func overview(of size: PictureKey.Size, most: Int) -> PictureKey.Size {
    size.reduced(by: factors(of: size, most: most).last ?? 1)
  }

  /// How many times smaller than the image its tiles are, each twice as much as the one before.
  private static func factors(of size: PictureKey.Size, most: Int) -> [Int] {
    var factors = [1]
    while let last = factors.last, size.longest > tile(most) * last { factors.append(2 * last) }
    return factors
  }

  /// The sizes of the whole image that are asked for most, the smallest first.
  private var sizes: [PictureKey.Size] {
    var sizes: [PictureKey.Size] = []
    var factor = 1
    while size.longest / factor >= Self.smallest {
      let next = size.reduced(by: factor)
      if next.longest <= most { sizes.append(next) }
      factor *= 2
    }
    return sizes.reversed()
  }

  var members: JSONValue {
    [
      "@context": .string(Self.context), "id": .string(id), "type": "ImageService3",
      "protocol": "http://iiif.io/api/image", "profile": "level2",
      "width": .integer(size.width), "height": .integer(size.height),
      "maxWidth": .integer(most), "maxHeight": .integer(most),
      "sizes": .array(
        sizes.map { ["width": .integer($0.width), "height": .integer($0.height)] }),
      "tiles": [
        [
          "width": .integer(tile), "height": .integer(tile),
          "scaleFactors": .array(Self.factors(of: size, most: most).map { .integer($0) }),
        ]
      ],
      "extraFormats": ["webp"], "extraQualities": ["bitonal", "color", "gray"],
      "extraFeatures": [
        "canonicalLinkHeader", "mirroring", "profileLinkHeader", "sizeUpscaling",
      ],
    ]
  }
}

extension PictureKey.Size {
  /// The size with sides that are as many times shorter, rounded up.
  fileprivate func reduced(by factor: Int) -> PictureKey.Size {
    PictureKey.Size(width: (width + factor - 1) / factor, height: (height + factor - 1) / factor)
  }
}
