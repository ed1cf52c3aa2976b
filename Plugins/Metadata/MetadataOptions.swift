import PipelineModel

/// The options of a stage that reads metadata.
struct MetadataOptions: Hashable, Sendable {
  /// A kind of metadata, by the name of the fact that it fills.
  enum Family: String, CaseIterable, Decodable { case exif, iptc, xmp, gps }

  /// What is read; all by default.
  var families = Set(Family.allCases)

  /// The JSON Schema of the options.
  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "families": [
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": ["enum": .array(names)],
        "default": .array(names),
        "description": """
        The kinds of metadata that go into the record. Without gps no coordinates do, also not \
        where XMP repeats them.
        """,
      ]
    ],
  ]

  private static let names: [JSONValue] = Family.allCases.map { .string($0.rawValue) }
}

extension MetadataOptions: Decodable {
  /// A key of any name, so that unknown ones can be refused by name.
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int?
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    func invalid(_ text: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
    }
    if let key = values.allKeys.map(\.stringValue).filter({ $0 != "families" }).min() {
      throw invalid("“\(key)” is not an option; known is families")
    }
    let key = Key(stringValue: "families")
    guard values.contains(key) else { return }
    let chosen = try values.decode([Family].self, forKey: key)
    families = Set(chosen)
    guard !chosen.isEmpty, families.count == chosen.count else {
      throw invalid("families must name at least one family, and none twice")
    }
  }
}
