import Foundation
import PipelineModel
import Testing

@testable import Configuration

/// Proves that the schema and the decoder say the same.
@Suite(.timeLimit(.minutes(10))) struct SchemaProofTests {
  private let schema: JSONValue

  init() throws {
    // As an editor reads it, not as the program has it.
    schema = try JSONDecoder().decode(JSONValue.self, from: Data(ConfigurationSchema.text.utf8))
  }

  @Test("The text is the value, and within what the validator knows")
  func text() throws {
    #expect(schema == ConfigurationSchema.value)
    #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
    #expect(throws: Never.self) { try OptionSchema(schema) }
  }

  @Test("Every property is a key of the schema, described, and the other way round")
  func keys() throws {
    let source = try #require(schema["properties"]?["sources"]?["items"])
    let stage = try #require(schema["properties"]?["stages"]?["items"])
    func labels(_ object: some ConfigurationObject) -> Set<String> {
      Set(Mirror(reflecting: object).children.compactMap(\.label))
    }
    let objects: [(JSONValue?, Set<String>)] = [
      (schema, labels(PipelineConfiguration.standard).subtracting(["file", "folder"])),
      (source, labels(SourceConfiguration.standard)),
      (schema["properties"]?["groups"]?["items"], labels(GroupRule.standard)),
      (schema["properties"]?["onDemand"], labels(OnDemandConfiguration())),
      (schema["properties"]?["node"], labels(NodeConfiguration())),
      (stage, labels(StageConfiguration.standard)),
      (stage["properties"]?["limits"], labels(StageLimits.standard)),
      (stage["properties"]?["allow"], labels(StageAllowance.standard)),
    ]
    // Keys that are not read, or are short for others.
    let others: Set = ["$schema", "timeout", "memory"]
    for (object, names) in objects {
      let properties = try #require(object?["properties"]?.object)
      #expect(!names.isEmpty && names.isSubset(of: properties.keys))
      #expect(others.isSuperset(of: Set(properties.keys).subtracting(names)))
      #expect(object?["additionalProperties"] == false)
      for (key, property) in properties { #expect(property["description"] != nil, "\(key)") }
    }
    #expect(stage["properties"]?["options"]?["properties"] == nil)
  }

  @Test("Every key changes what is decoded, so none is known and not read")
  func reading() throws {
    let standard = try decode(
      #"{"library": "x", "sources": [{"path": "x2"}], "stages": [{"name": "x", "plugin": "x"}]}"#
    ).effective()
    let full = try decode(fullConfiguration).effective()
    func differs<Object: ConfigurationObject>(
      _: Object.Type, except: [String] = [], _ left: JSONValue?, _ right: JSONValue?
    ) throws {
      let left = try #require(left?.object)
      let right = try #require(right?.object)
      for key in Object.keys.map(\.name) where !except.contains(key) {
        #expect(right[key] != nil && left[key] != right[key], "\(key)")
      }
    }
    let stage = full["stages"]?.array?.last
    let standardStage = standard["stages"]?.array?.last
    try differs(PipelineConfiguration.self, except: ["$schema"], standard, full)
    try differs(
      SourceConfiguration.self, standard["sources"]?.array?[0], full["sources"]?.array?[0])
    try differs(GroupRule.self, standard["groups"]?.array?[0], full["groups"]?.array?[0])
    try differs(OnDemandConfiguration.self, standard["onDemand"], full["onDemand"])
    try differs(NodeConfiguration.self, standard["node"], full["node"])
    try differs(StageConfiguration.self, except: ["timeout", "memory"], standardStage, stage)
    try differs(StageLimits.self, standardStage?["limits"], stage?["limits"])
    try differs(StageAllowance.self, standardStage?["allow"], stage?["allow"])
  }

  @Test("The schema's defaults are the decoder's")
  func defaults() throws {
    let text =
      #"{"library": "l", "sources": [{"path": "in"}], "stages": [{"name": "a", "plugin": "p"}]}"#
    let minimal = try JSONReader.read(Array(text.utf8)).value
    let filled = minimal.fillingDefaults(schema)
    #expect(filled != minimal)
    #expect(try decode(filled.formatted()) == decode(text))
    // What has no default in the schema has none in the decoder, but for the machine's memory.
    var effective = try #require(decode(text).effective().object)
    effective["memoryBudget"] = nil
    #expect(filled.object?.keys.sorted() == effective.keys.sorted())
    for list in ["sources", "stages"] {
      #expect(
        filled[list]?.array?[0].object?.keys.sorted()
          == effective[list]?.array?[0].object?.keys.sorted())
    }
  }

  /// Values to put in the place of any other.
  private static let values: [JSONValue] = [
    .null, true, 0, 1, -1, 1.5, 2000, "", "x", "a b", "0s", "2s", "0", "1GiB", "2 s", "cpus",
    "move", "copy", "**", [], [1], ["x"], ["a", "a"], [[:]], [:], ["x": 1],
  ]

  @Test("Schema and decoder agree on each value in each place")
  func corpus() throws {
    let validator = try OptionSchema(schema)
    let base = try JSONReader.read(Array(fullConfiguration.utf8)).value
    var verdicts = (valid: 0, invalid: 0)
    for variant in Self.variants(of: base) + [base] {
      let structural = validator.problems(with: variant)
      let decoded = errors(variant.formatted())
      // What the schema refuses, the decoder refuses in the same words and places.
      let places = Set(decoded.map { "\($0.pointer ?? "") \($0.message)" })
      for problem in structural {
        #expect(places.contains("\(problem.pointer ?? "") \(problem.message)"))
      }
      // What only the decoder refuses takes more to see than one value.
      if structural.isEmpty {
        verdicts.valid += 1
        let relational: Set<ConfigurationError.Code> = [
          .overlap, .unknownStage, .duplicateStage, .conflict, .cycle, .badGlob, .badPath,
        ]
        for error in decoded { #expect(relational.contains(error.code), "\(error)") }
      } else {
        verdicts.invalid += 1
      }
    }
    #expect(verdicts.valid > 100 && verdicts.invalid > 500, "\(verdicts)")
  }

  /// The value with each of its parts replaced by each of the values, taken out, or added to.
  static func variants(of value: JSONValue) -> [JSONValue] {
    var found = values
    switch value {
    case .object(let members):
      for (key, member) in members.sorted(by: { $0.key < $1.key }) {
        for variant in variants(of: member) {
          found.append(.object(members.merging([key: variant]) { $1 }))
        }
        found.append(.object(members.filter { $0.key != key }))
      }
      found.append(.object(members.merging(["unheardOf": 1]) { $1 }))
    case .array(let elements):
      for index in elements.indices {
        for variant in variants(of: elements[index]) {
          found.append(.array(elements[..<index] + [variant] + elements[(index + 1)...]))
        }
      }
    default: break
    }
    return found
  }
}
