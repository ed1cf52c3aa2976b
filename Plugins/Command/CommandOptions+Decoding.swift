import PipelineModel
import PipelinePlugin

extension CommandOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case command, facts, success, skip, transient, revision
  }

  init(from decoder: any Decoder) throws {
    func invalid(_ text: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: text))
    }
    try decoder.refuseUnknownOptions(known: Key.allCases.map(\.rawValue))
    let values = try decoder.container(keyedBy: Key.self)
    func read<Value: Decodable>(_ key: Key, _ value: Value) throws -> Value {
      values.contains(key) ? try values.decode(Value.self, forKey: key) : value
    }
    let words = try read(.command, [String]())
    guard let program = words.first, !program.isEmpty, words.count <= Self.greatestCount else {
      throw invalid("command must be a list: the program and its arguments")
    }
    guard !program.contains("/") || program.hasPrefix("/") else {
      throw invalid(
        "the program “\(program)” must be a name, or a path that begins with a slash")
    }
    guard !words.contains(where: { $0.unicodeScalars.contains("\0") }) else {
      throw invalid("command has a NUL character, which can't be passed to a program")
    }
    do throws(Template.Mistake) {
      guard try Template(program).isPlain else {
        throw Template.Mistake(message: "the program “\(program)” can't contain a placeholder")
      }
      self.program = try Template(program).filled { _ in "" }
      arguments = try Self.templates(words.dropFirst())
    } catch {
      throw invalid(error.message)
    }
    facts = try read(.facts, facts)
    success = Set(try read(.success, Array(success)))
    skip = Set(try read(.skip, Array(skip)))
    transient = Set(try read(.transient, Array(transient)))
    // Affects only the fingerprint.
    _ = try read(.revision, 1)
    for code in [success, skip, transient].joined() where !Self.codes.contains(code) {
      throw invalid("\(code) is not an exit code: 0 to 255")
    }
    let twice = success.intersection(skip).union(success.intersection(transient))
      .union(skip.intersection(transient))
    if let code = twice.min() {
      throw invalid("the exit code \(code) is in two of success, skip and transient")
    }
  }

  private static func templates(
    _ words: ArraySlice<String>
  ) throws(Template.Mistake) -> [Template] {
    var templates: [Template] = []
    for word in words { templates.append(try Template(word)) }
    return templates
  }
}

extension CommandOptions {
  static let schema: JSONValue = [
    "type": "object",
    "additionalProperties": false,
    "required": ["command"],
    "properties": [
      "command": [
        "type": "array", "minItems": 1, "maxItems": .integer(greatestCount),
        "items": ["type": "string"],
        "description": """
        The program and its arguments, run without a shell. {input}, {output}, {name}, {id}, \
        {digest} and {mediaType} are replaced for each file; {{ is a literal brace.
        """,
      ],
      "facts": [
        "enum": .array(Facts.allCases.map { .string($0.rawValue) }), "default": "none",
        "description": """
        How to use standard output. none: ignore it. json: it is one object, or a list of one, \
        whose members become the facts. text: it becomes the fact output.
        """,
      ],
      "success": codes("Exit codes for success.", [0]),
      "skip": codes("Exit codes that mean there was nothing to do.", []),
      "transient": codes("Exit codes that mean a retry may succeed.", [75]),
      "revision": [
        "type": "integer", "minimum": 1, "default": 1,
        "description": "Increase it when the program changes, to run all its jobs again.",
      ],
    ],
  ]

  private static func codes(_ text: JSONValue, _ value: JSONValue) -> JSONValue {
    [
      "type": "array", "uniqueItems": true, "default": value, "description": text,
      "items": [
        "type": "integer", "minimum": .integer(codes.lowerBound),
        "maximum": .integer(codes.upperBound),
      ],
    ]
  }
}
