import PipelineModel
import Vips

/// What is done with a picture besides making it smaller: its exact size, quarter turns, and tones.
struct ThumbnailFinish: Hashable, Sendable {
  /// The colours of a thumbnail; raw values as in IIIF's Image API.
  enum Tones: String, CaseIterable, Decodable { case color, gray, bitonal }

  struct PixelSize: Hashable, Sendable {
    var width: Int
    var height: Int

    var longest: Int { max(width, height) }
  }

  /// The size before it is turned, whatever the picture's shape; `nil` for the picture's shape.
  var exact: PixelSize?
  /// Degrees clockwise.
  var rotation = 0
  /// Whether it is mirrored left to right, before it is turned.
  var isMirrored = false
  var tones = Tones.color

  static let rotations = [0, 90, 180, 270]
  /// The least grey that is white in a bitonal picture.
  private static let white = 128.0

  /// Applies what is left to do when the picture has its size.
  func applied(to picture: Picture) throws(VipsError) -> Picture {
    try toned(picture).rendered().upright(from: orientation).rendered()
  }

  private func toned(_ picture: Picture) throws(VipsError) -> Picture {
    switch tones {
    case .color: return picture
    case .gray: return try picture.converted(to: .grey)
    case .bitonal:
      let opaque = picture.hasAlpha ? try picture.flattened() : picture
      return try opaque.converted(to: .grey).thresholded(at: Self.white)
    }
  }

  /// EXIF's orientation that turns a picture this way.
  private var orientation: Int {
    switch (rotation, isMirrored) {
    case (90, false): 6
    case (180, false): 3
    case (270, false): 8
    case (90, true): 7
    case (180, true): 4
    case (270, true): 5
    case (_, true): 2
    default: 1
    }
  }
}

extension ThumbnailFinish {
  private enum Key: String, CodingKey { case width, height, rotation, mirrored, tones }

  /// Reads the members of a size.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    if values.contains(.width) || values.contains(.height) {
      guard values.contains(.width), values.contains(.height) else {
        throw invalid("width and height belong together", decoder)
      }
      let exact = PixelSize(
        width: try values.decode(Int.self, forKey: .width),
        height: try values.decode(Int.self, forKey: .height))
      try check(exact.width, in: ThumbnailOptions.pixelSizes, "width", decoder)
      try check(exact.height, in: ThumbnailOptions.pixelSizes, "height", decoder)
      self.exact = exact
    }
    if values.contains(.rotation) {
      rotation = try values.decode(Int.self, forKey: .rotation)
      guard Self.rotations.contains(rotation) else {
        throw invalid("rotation is \(rotation); it must be 0, 90, 180 or 270", decoder)
      }
    }
    if values.contains(.mirrored) { isMirrored = try values.decode(Bool.self, forKey: .mirrored) }
    if values.contains(.tones) { tones = try values.decode(Tones.self, forKey: .tones) }
  }

  /// The properties of a size.
  static let schema: [String: JSONValue] = [
    "width": side("The exact width, with height: the picture is stretched to it, or enlarged."),
    "height": side("The exact height, with width."),
    "rotation": [
      "enum": .array(rotations.map { .integer($0) }), "default": 0,
      "description": "Degrees clockwise by which the picture is turned at the end.",
    ],
    "mirrored": [
      "type": "boolean", "default": false,
      "description": "Mirror the picture left to right, before it is turned by rotation.",
    ],
    "tones": [
      "enum": ThumbnailOptions.names(Tones.self), "default": "color",
      "description": "color: as it is. gray: without colours. bitonal: black and white only.",
    ],
  ]

  private static func side(_ text: JSONValue) -> JSONValue {
    [
      "type": "integer", "minimum": .integer(ThumbnailOptions.pixelSizes.lowerBound),
      "maximum": .integer(ThumbnailOptions.pixelSizes.upperBound), "description": text,
    ]
  }
}
