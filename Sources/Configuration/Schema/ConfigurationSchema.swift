package import PipelineModel

/// The JSON Schema (draft 2020-12) of `pipeline.json`.
///
/// It is built from the key tables that the decoder uses and the default values of the
/// configuration types. It alone checks types, keys and the form of values; the decoder checks
/// what involves several values (paths, needs, plugins).
package enum ConfigurationSchema {
  /// The schema as text, for `pipeline.schema.json`.
  package static let text = value.formatted() + "\n"

  /// The schema as a value.
  package static let value: JSONValue = {
    var schema = object(TopKey.self, required: [.library], title: "Configuration of pipeline") {
      top($0)
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$defs"] = .object(definitions)
    schema["description"] = "Relative paths are relative to the folder of this file."
    return .object(schema)
  }()

  /// Definitions of durations, sizes, paths and globs that many keys refer to.
  private static let definitions: [String: JSONValue] = [
    "duration": text(
      kind: "duration", pattern: "^[0-9]{1,12}(ms|s|m|h|d)$",
      "a whole number with ms, s, m, h or d, such as 2s", examples: ["250ms", "2s", "5m"]),
    "positiveDuration": text(
      kind: "duration", pattern: "^0{0,11}[1-9][0-9]{0,11}(ms|s|m|h|d)$",
      "a whole number above zero with ms, s, m, h or d, such as 2s", examples: ["60s", "5m"]),
    "size": text(
      kind: "size", pattern: "^[0-9]{1,18}(B|KiB|MiB|GiB|TiB)?$",
      "a whole number with B, KiB, MiB, GiB or TiB, such as 64KiB", examples: ["64KiB", "1GiB"]),
    "positiveSize": text(
      kind: "size", pattern: "^0{0,11}[1-9][0-9]{0,17}(B|KiB|MiB|GiB|TiB)?$",
      "a whole number above zero with B, KiB, MiB, GiB or TiB, such as 64KiB",
      examples: ["64KiB", "1GiB"]),
    "path": ["type": "string", "minLength": 1, "maxLength": 4095],
    "glob": ["type": "string", "minLength": 1],
  ]

  private static func text(
    kind: String, pattern: String, _ expected: String, examples: [JSONValue]
  ) -> JSONValue {
    [
      "type": "string", "pattern": .string(pattern), "examples": .array(examples),
      "x-kind": .string(kind), "x-expected": .string(expected),
    ]
  }

  /// A schema of an object with exactly the keys of a table.
  static func object<Key: CaseIterable & RawRepresentable<String> & Hashable>(
    _: Key.Type, required: [Key] = [], title: String? = nil, property: (Key) -> JSONValue
  ) -> [String: JSONValue] {
    let properties = Key.allCases.map { ($0.rawValue, property($0)) }
    var schema: [String: JSONValue] = [
      "type": "object", "additionalProperties": false,
      "properties": .object(Dictionary(uniqueKeysWithValues: properties)),
    ]
    if !required.isEmpty { schema["required"] = .array(required.map { .string($0.rawValue) }) }
    if let title { schema["title"] = .string(title) }
    return schema
  }

  /// A reference to a definition, with a description and a default.
  static func reference(
    _ name: String, _ description: String, default standard: JSONValue? = nil
  ) -> JSONValue {
    var schema: [String: JSONValue] = ["$ref": .string("#/$defs/\(name)")]
    schema["description"] = .string(description)
    schema["default"] = standard
    return .object(schema)
  }

  /// A schema of an enumeration.
  static func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ description: String, default standard: Choice
  ) -> JSONValue {
    [
      "type": "string", "enum": .array(Choice.allCases.map { .string($0.rawValue) }),
      "default": .string(standard.rawValue), "description": .string(description),
    ]
  }

  /// An inline schema with a description and a default.
  static func described(
    _ description: String, default standard: JSONValue? = nil, _ members: [String: JSONValue]
  ) -> JSONValue {
    var members = members
    members["description"] = .string(description)
    members["default"] = standard
    return .object(members)
  }

  /// A list of references to a definition.
  static func list(
    of definition: String, _ description: String, default standard: JSONValue? = []
  ) -> JSONValue {
    described(
      description, default: standard,
      ["type": "array", "items": ["$ref": .string("#/$defs/\(definition)")]])
  }
}
