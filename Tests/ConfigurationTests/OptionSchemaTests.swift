import PipelineModel
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(1))) struct OptionSchemaTests {
  /// A schema as a plugin has it.
  static let thumbnails: JSONValue = [
    "type": "object", "additionalProperties": false,
    "$defs": ["quality": ["type": "integer", "minimum": 1, "maximum": 100]],
    "properties": [
      "transform": ["type": "boolean", "default": true],
      "quality": ["$ref": "#/$defs/quality", "default": 80],
      "format": ["type": "string", "enum": ["jpeg", "webp"], "default": "jpeg"],
      "sizes": [
        "type": "array", "minItems": 1, "maxItems": 3, "x-uniqueBy": "name",
        "default": [["name": "grid", "maxPixelSize": 256]],
        "items": [
          "type": "object", "additionalProperties": false, "required": ["name"],
          "properties": [
            "name": [
              "type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 8,
              "x-expected": "small letters",
            ],
            "maxPixelSize": ["type": "integer", "minimum": 1, "default": 256],
            "sharpen": [
              "type": "object",
              "properties": ["sigma": ["type": "number", "minimum": 0, "default": 1]],
            ],
          ],
        ],
      ],
      "tags": [
        "type": "array", "uniqueItems": true, "items": ["type": ["string", "null"]], "default": [],
      ],
    ],
  ]

  private func problems(_ value: JSONValue) throws -> [ConfigurationError] {
    try OptionSchema(Self.thumbnails).problems(with: value, at: "/stages/1/options")
  }

  @Test("Options that keep to the schema have no problems")
  func valid() throws {
    #expect(try problems([:]).isEmpty)
    #expect(
      try problems([
        "transform": false, "quality": 80.0, "format": "webp", "tags": ["a", .null],
        "sizes": [
          ["name": "ab", "maxPixelSize": 1], ["name": "cd", "sharpen": ["sigma": 0.5, "x": 1]],
        ],
      ]).isEmpty)
  }

  @Test(
    "Each keyword finds what breaks it, with a pointer",
    arguments: [
      (["qualty": 80], .unknownKey, "/qualty", "did you mean “quality”?"),
      (["quality": 0], .badValue, "/quality", "the minimum allowed is 1"),
      (["quality": 101], .badValue, "/quality", "the maximum allowed is 100"),
      (["quality": 80.5], .wrongType, "/quality", "a whole number"),
      (["format": "jpg"], .badValue, "/format", "did you mean “jpeg”?"),
      (["sizes": []], .badValue, "/sizes", "must not be empty"),
      (
        ["sizes": [["name": "aa"], ["name": "bb"], ["name": "cc"], ["name": "dd"]]], .badValue,
        "/sizes", "at most 3"
      ),
      (
        ["sizes": [["name": "aa"], ["name": "aa"]]], .badValue, "/sizes/1/name",
        "“name” “aa” twice, at 0 and at 1"
      ),
      (
        ["sizes": [["name": "aa", "maxPixelSiz": 1]]], .unknownKey, "/sizes/0/maxPixelSiz",
        "unknown key “maxPixelSiz”; did you mean “maxPixelSize”?"
      ),
      (["sizes": [[:]]], .missingKey, "/sizes/0", "“sizes[0]” needs the key “name”"),
      (["sizes": [["name": "A1"]]], .badValue, "/sizes/0/name", "small letters"),
      (["sizes": [["name": "a"]]], .badValue, "/sizes/0/name", "at least 2"),
      (["sizes": [["name": "aaaaaaaaa"]]], .badValue, "/sizes/0/name", "at most 8"),
      (
        ["sizes": [["name": "aa", "sharpen": ["sigma": -0.5]]]], .badValue,
        "/sizes/0/sharpen/sigma", "-0.5"
      ),
      (["tags": ["a", "b", "a"]], .badValue, "/tags/2", "“a” twice"),
      (["tags": [1]], .wrongType, "/tags/0", "a string or null"),
    ] as [(JSONValue, ConfigurationError.Code, String, String)])
  func invalid(
    value: JSONValue, code: ConfigurationError.Code, pointer: String, words: String
  ) throws {
    let found = try problems(value)
    try #require(found.count == 1, "\(found)")
    #expect(found[0].code == code && found[0].pointer == "/stages/1/options" + pointer)
    #expect(found[0].message.lowercased().contains(words.lowercased()), "\(found[0].message)")
  }

  @Test("1 and 1.0 are the same element")
  func uniqueNumbers() throws {
    let schema = try OptionSchema(["type": "array", "uniqueItems": true])
    #expect(schema.problems(with: [1, 1.0]).map(\.pointer) == ["/1"])
    #expect(try OptionSchema(["const": 1]).problems(with: 1.0).isEmpty)
    #expect(try OptionSchema(["const": 1]).problems(with: 2).count == 1)
  }

  @Test(
    "A schema that this validator can't honour is refused",
    arguments: [
      (["anyOf": []], "/anyOf"), (["type": "text"], "/type"), (["pattern": "("], "/pattern"),
      (["properties": ["a": ["minimun": 1]]], "/properties/a/minimun"),
      (["items": ["minItems": -1]], "/items/minItems"), (["enum": []], "/enum"),
      (["required": "a"], "/required"), (["$ref": "#/$defs/x"], "/$ref"),
      (["$ref": "https://example.org/s"], "/$ref"), (["uniqueItems": 1], "/uniqueItems"),
      (["$defs": ["x": ["items": ["$ref": "#/$defs/x"]]]], "/$defs/x/items/$ref"),
      ("text", ""), (["properties": []], "/properties"), (["minimum": "1"], "/minimum"),
    ] as [(JSONValue, String)])
  func refused(schema: JSONValue, pointer: String) {
    let thrown = #expect(throws: ConfigurationErrors.self) { try OptionSchema(schema) }
    #expect(thrown?.errors.map(\.pointer) == [pointer])
    #expect(thrown?.errors.first?.code == .badSchema)
  }

  @Test("A stage's plugin and options are checked")
  func stages() throws {
    let configuration = try decode(
      #"""
      {"library": "l", "stages": [
        {"name": "a", "plugin": "thumbnial"},
        {"name": "b", "plugin": "thumbnail", "options": {"qualty": 1}},
        {"name": "c", "plugin": "mine", "command": "mine", "isolation": "none"},
        {"name": "f", "plugin": "mine", "command": "mine"},
        {"name": "d", "plugin": "broken"},
        {"name": "e", "plugin": "other"},
        {"name": "i", "plugin": "identify", "accepts": ["image/*"]}]}
      """#)
    let found = configuration.problems(plugins: [
      "thumbnail": Self.thumbnails, "broken": ["anyOf": []],
    ])
    #expect(
      found.map(\.code) == [
        .unknownPlugin, .unknownKey, .conflict, .badSchema, .unknownPlugin, .conflict,
      ])
    #expect(
      found.map(\.pointer) == [
        "/stages/0/plugin", "/stages/1/options/qualty", "/stages/2/isolation",
        "/stages/4/plugin", "/stages/5/plugin", "/stages/6/accepts",
      ])
    #expect(found[0].message == "There is no plugin “thumbnial”; did you mean “thumbnail”?")
    // What a program's options are, only the program can say.
    #expect(found[2].message.contains("a separate process"))
    #expect(found[4].message.contains("known plugins are “broken”, “thumbnail”"))
    #expect(found.allSatisfy { $0.file == file })
    #expect(configuration.problems(plugins: [:]).count == 6)
  }

  @Test("Stages that do the same are refused, however it is written")
  func sameWork() throws {
    let configuration = try decode(
      #"""
      {"library": "l", "stages": [
        {"name": "i", "plugin": "identify"},
        {"name": "a", "plugin": "thumbnail", "needs": ["i"]},
        {"name": "b", "plugin": "thumbnail", "options": {"quality": 80.0}, "storage": "file"},
        {"name": "c", "plugin": "thumbnail", "needs": ["i"], "options": {"quality": 81}},
        {"name": "d", "plugin": "thumbnail", "needs": ["i", "c"]},
        {"name": "e", "plugin": "thumbnail", "needs": ["c", "i"], "concurrency": 1},
        {"name": "f", "plugin": "thumbnail", "options": {"qualty": 1}},
        {"name": "g", "plugin": "thumbnail", "options": {"qualty": 1}}]}
      """#)
    let plugins: [String: JSONValue] = ["thumbnail": Self.thumbnails, "identify": [:]]
    let named = configuration.problems(plugins: plugins)
    #expect(named.map(\.code) == [.unknownKey, .unknownKey, .sameWork])
    #expect(named.last?.pointer == "/stages/5" && named.last?.file == file)
    // The needs of a and b are equal where each has to be identified.
    let all = configuration.problems(plugins: plugins) { stage in
      stage.plugin == "identify" || stage.needs.contains("i") ? stage.needs : ["i"] + stage.needs
    }
    let same = all.filter { $0.code == .sameWork }
    #expect(same.map(\.pointer) == ["/stages/2", "/stages/5"])
    #expect(
      same.first?.message
        == "The stages “a” and “b” do the same; remove one, or change its options.")
  }

  @Test("Without defaults, options that mean the same are the same")
  func removingDefaults() {
    let schema = Self.thumbnails
    let same: [JSONValue] = [
      [:], ["quality": 80], ["quality": 80.0, "transform": true, "format": "jpeg", "tags": []],
      ["sizes": [["name": "grid"]]], ["sizes": [["maxPixelSize": 256.0, "name": "grid"]]],
    ]
    for options in same { #expect(options.removingDefaults(schema) == [:], "\(options)") }
    #expect(
      JSONValue.object([
        "quality": 81, "sizes": [["name": "grid", "maxPixelSize": 512, "sharpen": ["sigma": 1.0]]],
      ]).removingDefaults(schema)
        == ["quality": 81, "sizes": [["name": "grid", "maxPixelSize": 512, "sharpen": [:]]]])
    #expect(JSONValue.object(["free": 2.0]).removingDefaults(schema) == ["free": 2])
  }

  @Test("Defaults are filled in at every depth, and filling changes no meaning")
  func fillingDefaults() {
    let schema = Self.thumbnails
    let filled = JSONValue.object([:]).fillingDefaults(schema)
    #expect(
      filled == [
        "transform": true, "quality": 80, "format": "jpeg", "tags": [],
        "sizes": [["name": "grid", "maxPixelSize": 256]],
      ])
    let options: JSONValue = ["sizes": [["name": "x", "sharpen": [:]]], "quality": 5]
    #expect(
      options.fillingDefaults(schema)["sizes"]
        == [["name": "x", "maxPixelSize": 256, "sharpen": ["sigma": 1]]])
    for value in [filled, options, [:]] {
      #expect(
        value.fillingDefaults(schema).removingDefaults(schema) == value.removingDefaults(schema))
      #expect(
        value.removingDefaults(schema).fillingDefaults(schema).means(value.fillingDefaults(schema)))
    }
  }

  @Test("The nearest name is near enough")
  func nearest() {
    let known = ["transform", "maxPixelSize", "quality", "sizes"]
    #expect(NearestName.find("maxPixelSiz", among: known) == "maxPixelSize")
    #expect(NearestName.find("MAXPIXELSIZE", among: known) == "maxPixelSize")
    #expect(NearestName.find("qaulity", among: known) == "quality")
    #expect(NearestName.find("size", among: known) == "sizes")
    #expect(NearestName.find("colour", among: known) == nil)
    #expect(NearestName.find("x", among: ["b"]) == nil)
    #expect(NearestName.find("x", among: []) == nil)
  }
}
