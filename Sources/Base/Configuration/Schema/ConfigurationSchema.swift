package import PipelineModel

/// The JSON Schema (draft 2020-12) of `pipeline.json`.
///
/// It is made of the keys of each `ConfigurationObject`, and validates a file before its values are
/// read. `pipeline.schema.json` is its text.
package enum ConfigurationSchema {
  /// The schema as text, for `pipeline.schema.json`.
  package static let text = value.formatted() + "\n"

  package static let value: JSONValue = {
    var schema = PipelineConfiguration.schema
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["$defs"] = .object(definitions)
    schema["title"] = "Configuration of pipeline"
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
}
