import PipelineModel
import PipelinePlugin

/// The options of a metadata stage.
struct MetadataOptions: Hashable, Sendable {
  /// A kind of metadata; also the name of its fact.
  enum Family: String, CaseIterable, Decodable { case exif, iptc, xmp, gps, text }

  /// The kinds to read; all by default.
  var families = Set(Family.allCases)

  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "families": [
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": ["enum": .array(names)],
        "default": .array(names),
        "description": """
        The kinds of metadata to record. Without gps, coordinates are left out, even where XMP \
        repeats them.
        """,
      ]
    ],
  ]

  private static let names: [JSONValue] = Family.allCases.map { .string($0.rawValue) }
}

extension MetadataOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case families }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    guard values.contains(.families) else { return }
    let chosen = try values.decode([Family].self, forKey: .families)
    families = Set(chosen)
    guard !chosen.isEmpty, families.count == chosen.count else {
      throw DecodingError.dataCorruptedError(
        forKey: .families, in: values,
        debugDescription: "families must name at least one family, and none twice")
    }
  }
}
