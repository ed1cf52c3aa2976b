import PipelineModel

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
        always: decode the picture itself. ifAbsent: use the preview inside the file if it is \
        large enough, has the picture's shape within 1 %, and the file is whole.
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
    ],
  ]

  private static let size: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "required": ["name", "maxPixelSize"],
    "properties": [
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

  private static func names<Choice: CaseIterable & RawRepresentable<String>>(
    _ type: Choice.Type
  ) -> JSONValue {
    .array(type.allCases.map { .string($0.rawValue) })
  }
}
