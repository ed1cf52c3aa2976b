import PipelineModel
import PipelinePlugin

/// The options of the stage that identifies.
struct IdentifyOptions: Hashable, Sendable {
  /// Patterns of names that say when a picture was taken; none by default.
  var capturedFromName: [NamePattern] = []

  /// The JSON Schema of the options.
  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "capturedFromName": [
        "type": "array", "maxItems": 100, "uniqueItems": true,
        "items": ["type": "string", "minLength": 1, "maxLength": 255],
        "default": [],
        "description": """
        Patterns of file names that say when a picture was taken, for files that do not say it \
        themselves: IMG_{yyyy}{MM}{dd}_{HH}{mm}{ss}*. The star stands for anything, ? for one \
        character. Assets of the same bytes then do not share results.
        """,
      ]
    ],
  ]
}

extension IdentifyOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable { case capturedFromName }

  init(from decoder: any Decoder) throws {
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    for text in try values.decodeIfPresent([String].self, forKey: .capturedFromName) ?? [] {
      guard let pattern = NamePattern(text) else {
        throw DecodingError.dataCorruptedError(
          forKey: .capturedFromName, in: values,
          debugDescription: """
            capturedFromName must name year, month and day as {yyyy}, {MM} and {dd}, may name \
            {HH}, {mm} and {ss}, and none twice, which “\(text)” does not
            """)
      }
      capturedFromName.append(pattern)
    }
  }
}
