import PipelineModel
import PipelinePlugin

/// The options of the identifying stage.
struct IdentifyOptions: Hashable, Sendable {
  /// File name patterns that contain the capture date; none by default.
  var capturedFromName: [NamePattern] = []

  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "properties": [
      "capturedFromName": [
        "type": "array", "maxItems": 100, "uniqueItems": true,
        "items": ["type": "string", "minLength": 1, "maxLength": 255],
        "default": [],
        "description": """
        File name patterns that contain the capture date, for files without one of their own: \
        IMG_{yyyy}{MM}{dd}_{HH}{mm}{ss}*. A star matches anything, ? one character. Assets with \
        the same bytes then don't share results.
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
            capturedFromName must contain {yyyy}, {MM} and {dd}, and may contain {HH}, {mm} and \
            {ss}, each at most once, which “\(text)” does not
            """)
      }
      capturedFromName.append(pattern)
    }
  }
}
