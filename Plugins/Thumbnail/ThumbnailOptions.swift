import PipelineModel
import PipelinePlugin

/// The options of a thumbnail stage, in ImageIO's terms.
struct ThumbnailOptions: Hashable, Sendable {
  /// Whether an embedded preview may be used (`kCGImageSourceCreateThumbnailFromImage…`).
  enum FromImage: String, CaseIterable, Decodable { case always, ifAbsent }

  enum Format: String, CaseIterable, Decodable { case jpeg, webp, png, avif }

  /// The colour space of a thumbnail.
  enum ColorSpace: String, CaseIterable, Decodable { case srgb, p3, keep }

  /// Whether to prefer speed or similarity to a full decode.
  enum Scaling: String, CaseIterable, Decodable { case fast, exact }

  struct Size: Hashable, Sendable {
    /// The name of the rendition and of its file.
    var name: String
    /// The longer side in pixels (`kCGImageSourceThumbnailMaxPixelSize`).
    var maxPixelSize: Int
    /// The format of this size, if it is not the stage's.
    var format: Format?
    /// The quality of this size, if it is not the stage's.
    var quality: Int?
    /// Whether an animated picture, or a film, gives an animated WebP; default `false`.
    var isAnimated = false
    /// How many frames of a film are on a sheet; `nil` for a thumbnail.
    var sprites: Int?
    /// What is done with the picture besides making it smaller.
    var finish = ThumbnailFinish()

    /// The longer side of what may come of it, in pixels.
    var longest: Int { finish.exact?.longest ?? maxPixelSize }
  }

  /// Whether to apply EXIF's orientation (`kCGImageSourceCreateThumbnailWithTransform`); default
  /// `true`.
  var transform = true
  /// Whether an embedded preview may be used; default `always` from the picture itself.
  var fromImage = FromImage.always
  /// The thumbnails; default `grid` of 256 and `preview` of 1024 pixels.
  var sizes = [Size(name: "grid", maxPixelSize: 256), Size(name: "preview", maxPixelSize: 1024)]
  /// The file format; default `jpeg`.
  var format = Format.jpeg
  /// The compression quality, 1 to 100; default 80. PNG does not use it.
  var quality = 80
  /// Whether to leave out metadata; default `true`.
  var strip = true
  /// The colour space; default `srgb`.
  var colorSpace = ColorSpace.srgb
  /// Speed or similarity; default `fast`.
  var scaling = Scaling.fast
  /// The part of the picture to show; default (`nil`) all of it.
  var region: PictureRegion?

  /// The sizes that every picture has: all but sprite sheets.
  var pictureSizes: [Size] { sizes.filter { $0.sprites == nil } }

  /// The longer side of the largest thumbnail, in pixels; without one, of the largest frame of a
  /// sheet.
  var longest: Int {
    (pictureSizes.isEmpty ? sizes : pictureSizes).map(\.longest).max() ?? 0
  }

  static let pixelSizes = 1...16384
  static let qualities = 1...100
  static let maximumSizes = 16
  static let namePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

  /// Whether a name matches `namePattern`, and so is safe as a file name.
  static func isName(_ name: String) -> Bool {
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let others = Set("_-".utf8)
    guard let first = name.utf8.first, letters.contains(first), name.utf8.count <= 64 else {
      return false
    }
    return name.utf8.allSatisfy { letters.contains($0) || others.contains($0) }
  }
}

extension ThumbnailOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case transform, fromImage, sizes, format, quality, strip, colorSpace, scaling, region
  }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    func set<Value: Decodable>(_ path: WritableKeyPath<Self, Value>, _ key: Key) throws {
      if values.contains(key) { self[keyPath: path] = try values.decode(Value.self, forKey: key) }
    }
    try set(\.transform, .transform)
    try set(\.fromImage, .fromImage)
    try set(\.sizes, .sizes)
    try set(\.format, .format)
    try set(\.quality, .quality)
    try set(\.strip, .strip)
    try set(\.colorSpace, .colorSpace)
    try set(\.scaling, .scaling)
    if values.contains(.region) {
      region = try PictureRegion.decode(from: values.superDecoder(forKey: .region))
    }
    try check(quality, in: Self.qualities, "quality", decoder)
    guard !sizes.isEmpty, sizes.count <= Self.maximumSizes else {
      throw invalid(
        "sizes has \(sizes.count) entries; 1 to \(Self.maximumSizes) are allowed", decoder)
    }
    var names: Set<String> = []
    for size in sizes where !names.insert(size.name).inserted {
      throw invalid("sizes has two entries named “\(size.name)”", decoder)
    }
    // A profile for colours says nothing of greys.
    if colorSpace != .srgb, let size = sizes.first(where: { $0.finish.tones != .color }) {
      throw invalid("“\(size.name)” has no colours, so colorSpace must be srgb", decoder)
    }
  }
}

extension ThumbnailOptions.Size: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case name, maxPixelSize, format, quality, animated, sprites, width, height, rotation, mirrored,
      tones
  }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    name = try values.decode(String.self, forKey: .name)
    maxPixelSize = try values.decode(Int.self, forKey: .maxPixelSize)
    format =
      values.contains(.format)
      ? try values.decode(ThumbnailOptions.Format.self, forKey: .format) : nil
    quality = values.contains(.quality) ? try values.decode(Int.self, forKey: .quality) : nil
    isAnimated =
      values.contains(.animated) ? try values.decode(Bool.self, forKey: .animated) : false
    sprites = values.contains(.sprites) ? try values.decode(Int.self, forKey: .sprites) : nil
    guard ThumbnailOptions.isName(name) else {
      throw invalid(
        "“\(name)” is not a name: letters, digits, “-” and “_”, at most 64, not beginning with a sign",
        decoder)
    }
    try check(maxPixelSize, in: ThumbnailOptions.pixelSizes, "maxPixelSize", decoder)
    if let quality { try check(quality, in: ThumbnailOptions.qualities, "quality", decoder) }
    if let sprites { try checkSheet(sprites, decoder) }
    finish = try ThumbnailFinish(from: decoder)
    if finish != ThumbnailFinish() {
      if isAnimated {
        throw invalid("“\(name)” is animated, so it can be neither stretched nor turned", decoder)
      }
      if sprites != nil {
        throw invalid(
          "“\(name)” is a sprite sheet, so it can be neither stretched nor turned", decoder)
      }
    }
  }

  private func checkSheet(_ count: Int, _ decoder: any Decoder) throws {
    try check(count, in: SpriteSheet.counts, "sprites", decoder)
    if isAnimated { throw invalid("“\(name)” is both animated and a sprite sheet", decoder) }
    guard count * maxPixelSize * maxPixelSize <= SpriteSheet.mostPixels else {
      throw invalid(
        "“\(name)” has \(count) sprites of \(maxPixelSize) pixels; a sheet has at most "
          + "\(SpriteSheet.mostPixels / 1_000_000) million pixels in all", decoder)
    }
  }
}

func check(
  _ value: Int, in range: ClosedRange<Int>, _ name: String, _ decoder: any Decoder
) throws {
  guard range.contains(value) else {
    throw invalid(
      "\(name) is \(value); it must be \(range.lowerBound) to \(range.upperBound)", decoder)
  }
}

func invalid(_ text: String, _ decoder: any Decoder) -> DecodingError {
  .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
}

extension ThumbnailOptions {
  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "transform": [
        "type": "boolean", "default": true,
        "description": "Rotate the picture upright according to its EXIF orientation.",
      ],
      "fromImage": [
        "enum": names(FromImage.self), "default": "always",
        "description": """
        always: decode the picture itself. ifAbsent: use the preview inside the file (JPEG, HEIC, \
        AVIF) if it is large enough for all sizes, has the picture's shape (of JPEG within 1 %, \
        otherwise within a pixel), and the file is whole. Of raw files the preview is used in both \
        cases.
        """,
      ],
      "sizes": [
        "type": "array", "minItems": 1, "maxItems": .integer(maximumSizes), "uniqueItems": true,
        "items": size,
        "default": [
          ["name": "grid", "maxPixelSize": 256], ["name": "preview", "maxPixelSize": 1024],
        ],
        "description": "The thumbnails to make, all from one decode, with distinct names.",
      ],
      "format": format("The file format.", default: "jpeg"),
      "quality": quality("The compression quality; PNG does not use it.", default: 80),
      "strip": [
        "type": "boolean", "default": true,
        "description": """
        Leave out EXIF (camera, place), XMP, IPTC and comments. A colour profile that is needed \
        stays.
        """,
      ],
      "colorSpace": [
        "enum": names(ColorSpace.self), "default": "srgb",
        "description": """
        srgb: convert, no profile needed. p3: convert to Display P3 and embed its profile. keep: \
        keep the colours and embed the picture's own profile.
        """,
      ],
      "scaling": [
        "enum": names(Scaling.self), "default": "fast",
        "description": """
        fast: let the decoder shrink to just above the largest size. exact: decode each size as \
        libvips' own thumbnailer does.
        """,
      ],
      "region": PictureRegion.schema,
    ],
  ]

  private static let size: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "required": ["name", "maxPixelSize"],
    "properties": .object(sizeProperties.merging(ThumbnailFinish.schema) { $1 }),
  ]

  private static let sizeProperties: [String: JSONValue] = [
    "name": [
      "type": "string", "pattern": .string(namePattern),
      "description": "The rendition's name.",
    ],
    "maxPixelSize": [
      "type": "integer", "minimum": .integer(pixelSizes.lowerBound),
      "maximum": .integer(pixelSizes.upperBound),
      "description": "The longer side in pixels. A smaller picture is never enlarged.",
    ],
    "format": format("The format of this size, instead of the stage's."),
    "quality": quality("The quality of this size, instead of the stage's."),
    "animated": [
      "type": "boolean", "default": false,
      "description": """
      Make an animated WebP of an animated GIF or WebP, of at most 100 frames, and of a film, of 12 \
      frames; other pictures stay stills in the format of this size.
      """,
    ],
    "sprites": [
      "type": "integer", "minimum": .integer(SpriteSheet.counts.lowerBound),
      "maximum": .integer(SpriteSheet.counts.upperBound),
      "description": """
      Make a sheet of this many frames of a film, at equal distances, each with a longer side of \
      maxPixelSize; of at most 16 million pixels. Other files get no such size.
      """,
    ],
  ]

  private static func format(_ text: JSONValue, default value: JSONValue? = nil) -> JSONValue {
    var members: [String: JSONValue] = ["enum": names(Format.self), "description": text]
    members["default"] = value
    return .object(members)
  }

  private static func quality(_ text: JSONValue, default value: JSONValue? = nil) -> JSONValue {
    var members: [String: JSONValue] = [
      "type": "integer", "minimum": .integer(qualities.lowerBound),
      "maximum": .integer(qualities.upperBound), "description": text,
    ]
    members["default"] = value
    return .object(members)
  }

  static func names<Choice: CaseIterable & RawRepresentable<String>>(
    _ type: Choice.Type
  ) -> JSONValue {
    .array(type.allCases.map { .string($0.rawValue) })
  }
}
