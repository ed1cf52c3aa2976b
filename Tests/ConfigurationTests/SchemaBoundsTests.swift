import PipelineModel
import Testing

@testable import Configuration

@Suite("Bounds of schemas", .timeLimit(.minutes(1)))
struct SchemaBoundsTests {
  /// A schema whose defaults repeat at each level what is inside.
  private static func nested(_ levels: Int) -> (schema: JSONValue, value: JSONValue) {
    guard levels > 0 else { return (["type": "object", "properties": [:]], [:]) }
    let (schema, value) = nested(levels - 1)
    let members = schema.object ?? [:]
    let inner = JSONValue.object(members.merging(["default": value]) { $1 })
    return (["type": "object", "properties": ["a": inner]], ["a": value])
  }

  @Test("Defaults within defaults take no longer with each level")
  func nestedDefaults() {
    let (schema, value) = Self.nested(30)
    #expect(SchemaBounds.fault(in: schema) == nil)
    // The default is the whole chain, so that all of it is filled in and nothing of it is left.
    #expect(JSONValue.object([:]).fillingDefaults(schema) == value)
    #expect(value.removingDefaults(schema) == [:])
    let problems = (try? OptionSchema(schema))?.problems(with: value)
    #expect(problems == [])
  }

  /// A schema in which a list of two objects is the default of each of them.
  private static func doubling(_ levels: Int) -> JSONValue {
    var schema: JSONValue = ["type": "object"]
    for _ in 0..<levels {
      schema = [
        "type": "object",
        "properties": ["a": ["type": "array", "items": schema, "default": [[:], [:]]]],
      ]
    }
    return schema
  }

  @Test("Defaults that make more than a schema should are refused before they are made")
  func doublingDefaults() throws {
    #expect(SchemaBounds.fault(in: Self.doubling(5)) == nil)
    let filled = JSONValue.object([:]).fillingDefaults(Self.doubling(5))
    #expect(filled["a"]?.array?.count == 2)
    let fault = try #require(SchemaBounds.fault(in: Self.doubling(20)))
    #expect(fault.contains("defaults") && fault.contains("10000"))
    #expect(throws: ConfigurationErrors.self) { try OptionSchema(Self.doubling(20)) }
    // Also where nothing at the top has a default, and by way of a definition.
    let inside: JSONValue = ["properties": ["o": Self.doubling(20)]]
    #expect(SchemaBounds.fault(in: inside) != nil)
    let defined: JSONValue = [
      "$defs": ["d": Self.doubling(12)],
      "properties": [
        "a": ["$ref": "#/$defs/d", "default": [:]], "b": ["$ref": "#/$defs/d", "default": [:]],
      ],
    ]
    #expect(SchemaBounds.fault(in: defined) != nil)
  }

  @Test("A default of a definition counts where it is referred to")
  func definedDefaults() {
    let schema: JSONValue = [
      "$defs": ["d": ["type": "integer", "default": 5]],
      "properties": ["a": ["$ref": "#/$defs/d"], "b": ["$ref": "#/$defs/d", "default": 6]],
    ]
    #expect(JSONValue.object([:]).fillingDefaults(schema) == ["a": 5, "b": 6])
    let beside: JSONValue = [
      "$defs": ["d": ["type": "object", "default": [:]]],
      "properties": ["o": ["$ref": "#/$defs/d", "properties": ["x": ["default": 1]]]],
    ]
    #expect(JSONValue.object([:]).fillingDefaults(beside) == ["o": ["x": 1]])
    #expect(JSONValue.object(["o": ["x": 1]]).removingDefaults(beside) == [:])
    #expect(JSONValue.object(["a": 5.0, "b": 5]).removingDefaults(schema) == ["b": 5])
  }

  @Test(
    "A schema that is too deep or has too much in it is refused",
    arguments: [
      (
        (0..<130).reduce("text" as JSONValue) { inner, _ in ["items": inner] },
        "more than 128 deep"
      ),
      (["enum": .array(Array(repeating: 0, count: 10_000))], "more than 10000 values"),
      (["properties": [String(repeating: "k", count: 129): [:]]], "more than 128 bytes"),
    ] as [(JSONValue, String)])
  func refused(schema: JSONValue, words: String) {
    #expect(SchemaBounds.fault(in: schema)?.contains(words) == true)
    let thrown = #expect(throws: ConfigurationErrors.self) { try OptionSchema(schema) }
    #expect(thrown?.errors.map(\.code) == [.badSchema])
  }

  @Test("Definitions that refer to each other lead nowhere")
  func circles() {
    let schema: JSONValue = [
      "$defs": ["d": ["properties": ["a": ["$ref": "#/$defs/d", "default": [:]]]]],
      "properties": ["a": ["$ref": "#/$defs/d", "default": [:]]],
    ]
    #expect(SchemaBounds.fault(in: schema) == nil)
    #expect(JSONValue.object([:]).fillingDefaults(schema) == ["a": ["a": [:]]])
    #expect(throws: ConfigurationErrors.self) { try OptionSchema(schema) }
  }

  @Test("Of what is wrong a sentence names some, and says how many more there are")
  func manyNames() throws {
    let names = (0..<5000).map { JSONValue.string("choice-\($0)") }
    let schema: JSONValue = [
      "properties": .object(
        Dictionary(uniqueKeysWithValues: (0..<1000).map { ("key-\($0)", ["enum": [1]]) })),
      "additionalProperties": false, "enum": .array(names),
    ]
    let messages = try OptionSchema(schema).problems(with: ["zzzzzzzzzzzz": 1]).map(\.message)
    #expect(messages.count == 2)
    for message in messages { #expect(message.utf8.count < 1000, "\(message)") }
    #expect(messages.contains { $0.contains("and 4980 more") })
    let wrong: [String: JSONValue] = Dictionary(
      uniqueKeysWithValues: (0..<1000).map { ("k\($0)", ["anyOf": []]) })
    let thrown = #expect(throws: ConfigurationErrors.self) {
      try OptionSchema(["properties": .object(wrong)])
    }
    #expect(thrown?.errors.count == 20)
  }
}
