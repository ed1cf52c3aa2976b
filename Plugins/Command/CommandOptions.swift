import PipelineModel
import PipelinePlugin

/// The options of a stage that runs a user's program.
struct CommandOptions: Hashable, Sendable {
  /// How to use the program's standard output.
  enum Facts: String, CaseIterable, Decodable {
    /// Ignore it.
    case none
    /// It is one JSON object, or a list of one, whose members become the facts.
    case json
    /// It is text, and becomes the fact `output`.
    case text
  }

  /// The program, without placeholders.
  var program: String
  var arguments: [Template]
  /// How to use standard output; by default ignored.
  var facts = Facts.none
  /// Exit codes for success; 0 by default.
  var success: Set<Int> = [0]
  /// Exit codes that mean there was nothing to do; none by default.
  var skip: Set<Int> = []
  /// Exit codes that mean a retry may succeed; 75 by default, `EX_TEMPFAIL` of sysexits.h(3head).
  var transient: Set<Int> = [75]

  /// The files in the output folder that become renditions; none by default.
  var renditions: [Rendition] = []

  /// A picture that the program leaves in its output folder.
  struct Rendition: Hashable, Sendable, Decodable {
    var name: String
    /// A path below the output folder.
    var file: String
    var mediaType: PictureHeader.Kind
    /// Whether the program need not make it; it must by default.
    var optional: Bool?
  }

  static let greatestCount = 1_000
  static let mostRenditions = 100
  static let codes = 0...255
}

extension CommandOptions: Decodable {
  private enum Key: String, CodingKey, CaseIterable {
    case command, facts, success, skip, transient, renditions, revision
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
      throw invalid("the program “\(program)” must be a name, or a path that begins with a slash")
    }
    guard !words.contains(where: { $0.unicodeScalars.contains("\0") }) else {
      throw invalid("command has a NUL character, which can't be passed to a program")
    }
    do throws(Template.Mistake) {
      guard try Template(program).isPlain else {
        throw Template.Mistake(message: "the program “\(program)” can't contain a placeholder")
      }
      self.program = try Template(program).filled { _ in "" }
      arguments = try words.dropFirst().map { word throws(Template.Mistake) in try Template(word) }
    } catch {
      throw invalid(error.message)
    }
    facts = try read(.facts, facts)
    success = Set(try read(.success, Array(success)))
    skip = Set(try read(.skip, Array(skip)))
    transient = Set(try read(.transient, Array(transient)))
    renditions = try read(.renditions, renditions)
    for rendition in renditions {
      let parts = rendition.file.split(separator: "/", omittingEmptySubsequences: false)
      guard !parts.contains(where: { ["", ".", ".."].contains($0) }),
        !rendition.file.unicodeScalars.contains("\0")
      else { throw invalid("the file “\(rendition.file)” is not a path below the output folder") }
    }
    guard Set(renditions.map(\.name)).count == renditions.count else {
      throw invalid("two renditions have the same name")
    }
    guard Set(renditions.map(\.file)).count == renditions.count else {
      throw invalid("two renditions are the same file")
    }
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
      "renditions": [
        "type": "array", "default": [], "maxItems": .integer(mostRenditions),
        "description": "The pictures that the program leaves in its output folder.",
        "items": [
          "type": "object", "additionalProperties": false,
          "required": ["name", "file", "mediaType"],
          "properties": [
            "name": [
              "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$",
              "description": "The name of the rendition.",
            ],
            "file": [
              "type": "string", "minLength": 1, "maxLength": 255,
              "description": "The path of the file below the output folder.",
            ],
            "mediaType": [
              "enum": .array(PictureHeader.Kind.allCases.map { .string($0.rawValue) }),
              "description": "The type that the file must have.",
            ],
            "optional": [
              "type": "boolean", "default": false,
              "description": "Whether the program need not make it.",
            ],
          ],
        ],
      ],
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

/// One argument with placeholders for what differs from job to job.
struct Template: Hashable, Sendable {
  /// A placeholder, as written between braces.
  enum Placeholder: String, CaseIterable, Sendable {
    case input, output, name, id, digest, mediaType
  }

  private enum Part: Hashable, Sendable {
    case text(String)
    case place(Placeholder)
  }

  private let parts: [Part]

  /// What is wrong with an argument, worded as the end of a sentence.
  struct Mistake: Error { let message: String }

  /// Parses an argument: `{input}` is a placeholder, `{{` a brace.
  init(_ argument: String) throws(Mistake) {
    var parts: [Part] = []
    var text = ""
    var rest = argument[...]
    while let brace = rest.firstIndex(of: "{") {
      text += rest[..<brace]
      rest = rest[brace...].dropFirst()
      if rest.first == "{" {
        text.append("{")
        rest = rest.dropFirst()
        continue
      }
      guard let end = rest.firstIndex(of: "}"),
        let place = Placeholder(rawValue: String(rest[..<end]))
      else {
        let known = Placeholder.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
        throw Mistake(
          message: "“\(argument)” has an unknown placeholder; known are \(known), "
            + "and {{ stands for a brace")
      }
      parts += [.text(text), .place(place)]
      text = ""
      rest = rest[end...].dropFirst()
    }
    self.parts = parts + [.text(text + rest)]
  }

  /// Whether it contains no placeholder.
  var isPlain: Bool {
    parts.allSatisfy { if case .text = $0 { true } else { false } }
  }

  func filled(_ value: (Placeholder) -> String) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .place(let place): value(place)
      }
    }.joined()
  }
}
