package import PipelineModel

/// A validator for the subset of JSON Schema (draft 2020-12) that options need.
///
/// Keywords: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`,
/// `minItems`, `maxItems`, `uniqueItems`, `minimum`, `maximum`, `minLength`, `maxLength`,
/// `pattern` and `$ref` to `#/$defs/…`. There are two additions: `x-uniqueBy` names a key whose
/// values must differ among the objects of a list, because `uniqueItems` compares whole objects;
/// `x-expected` describes in words what a `pattern` expects. `title`, `description`, `default`,
/// `examples`, `deprecated`, `$schema`, `$id`, `$comment`, `$defs` and other keywords that begin
/// with `x-` don't affect validity.
package struct OptionSchema: Sendable, Hashable {
  package let schema: JSONValue

  /// Checks a schema and rejects unknown keywords, because ignoring them would accept
  /// values that the author meant to forbid.
  package init(_ schema: JSONValue) throws(ConfigurationErrors) {
    var errors: [ConfigurationError] = []
    if let fault = SchemaBounds.fault(in: schema) {
      errors = [ConfigurationError(code: .badSchema, message: "In it \(fault).", pointer: "")]
    } else {
      Self.inspect(schema, in: schema, at: "", into: &errors)
    }
    if let errors = ConfigurationErrors(errors) { throw errors }
    self.schema = schema
  }

  /// Takes the program's own schema without checking; a test checks it.
  init(trusted schema: JSONValue) { self.schema = schema }

  /// Finds all problems of a value.
  ///
  /// - Parameter pointer: The pointer to the value, a prefix of the errors' pointers.
  package func problems(with value: JSONValue, at pointer: String = "") -> [ConfigurationError] {
    var visit = Visit(root: schema)
    visit.check(value, against: schema, at: pointer)
    return visit.errors
  }

  /// Resolves a reference to `#/$defs/…`, merging keywords next to the reference.
  static func resolved(_ schema: JSONValue, in root: JSONValue) -> JSONValue {
    guard let name = definition(of: schema), let target = root["$defs"]?[name]?.object,
      var members = schema.object
    else { return schema }
    members["$ref"] = nil
    members.merge(target) { own, _ in own }
    return .object(members)
  }

  /// The name of the definition that a schema refers to.
  static func definition(of schema: JSONValue) -> String? {
    let beginning = "#/$defs/"
    guard let reference = schema["$ref"]?.string, reference.hasPrefix(beginning) else { return nil }
    return String(reference.dropFirst(beginning.count))
  }

  private static let annotations: Set = [
    "title", "description", "default", "examples", "deprecated", "$schema", "$id", "$comment",
  ]
  private static let mostErrors = 20

  private static func inspect(
    _ schema: JSONValue, in root: JSONValue, isDefinition: Bool = false, at pointer: String,
    into errors: inout [ConfigurationError]
  ) {
    guard let members = schema.object else {
      if schema.bool == nil { report("must be an object", at: pointer, into: &errors) }
      return
    }
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      let place = JSONPointer.appending(key, to: pointer)
      switch key {
      case "properties", "$defs":
        guard let children = value.object else {
          report("must be an object", at: place, into: &errors)
          continue
        }
        for (name, child) in children.sorted(by: { $0.key < $1.key }) {
          inspect(
            child, in: root, isDefinition: isDefinition || key == "$defs",
            at: JSONPointer.appending(name, to: place), into: &errors)
        }
      case "items", "additionalProperties":
        inspect(value, in: root, isDefinition: isDefinition, at: place, into: &errors)
      case "$ref":
        // References in definitions are forbidden, so there are no cycles.
        if isDefinition {
          report("must not be in a definition", at: place, into: &errors)
        } else if value.string?.hasPrefix("#/$defs/") != true
          || resolved(["$ref": value], in: root)["$ref"] != nil
        {
          report("must name a definition, as “#/$defs/…”", at: place, into: &errors)
        }
      default:
        if let fault = fault(in: value, of: key) { report(fault, at: place, into: &errors) }
      }
    }
  }

  /// What is wrong with the value of a keyword that contains no schemas, as a clause.
  private static func fault(in value: JSONValue, of keyword: String) -> String? {
    switch keyword {
    case "type":
      let types = (value.array ?? [value]).map { $0.string.flatMap(SchemaType.init) }
      return types.isEmpty || types.contains(nil) ? "must name types" : nil
    case "pattern":
      return patternFault(value)
    case "enum":
      return value.array?.isEmpty == false ? nil : "must be a list"
    case "required":
      let isSound = value.array?.allSatisfy { $0.string != nil } == true
      return isSound ? nil : "must be a list of strings"
    case "minItems", "maxItems", "minLength", "maxLength":
      return (value.integer ?? -1) >= 0 ? nil : "must be a whole number from 0"
    case "minimum", "maximum":
      return value.double == nil ? "must be a number" : nil
    case "uniqueItems":
      return value.bool == nil ? "must be true or false" : nil
    case "x-uniqueBy":
      return value.string == nil ? "must be a string" : nil
    case "const":
      return nil
    default:
      let isAnnotation = annotations.contains(keyword) || keyword.hasPrefix("x-")
      return isAnnotation ? nil : "is a keyword that is not supported"
    }
  }

  private static func patternFault(_ pattern: JSONValue) -> String? {
    guard let pattern = pattern.string else { return "must be a string" }
    do throws(SchemaPatternError) {
      _ = try SchemaPattern(pattern)
      return nil
    } catch {
      return "is \(quoted(pattern)), which can't be used: \(error.message)"
    }
  }

  private static func report(
    _ text: String, at pointer: String, into errors: inout [ConfigurationError]
  ) {
    // The first errors are enough for the author.
    guard errors.count < mostErrors else { return }
    errors.append(
      ConfigurationError(
        code: .badSchema, message: "\(JSONPointer.subject(pointer)) in the schema \(text).",
        pointer: pointer))
  }
}

/// Limits for schemas from plugins, which bound the time and memory that handling them takes.
package enum SchemaBounds {
  /// The maximum nesting depth of lists and objects.
  static let greatestDepth = 128
  /// The most values, including those of defaults and examples.
  static let mostValues = 10_000
  /// The most bytes of a key: the pointer to a place contains all keys above it.
  static let longestKey = 128
  /// The most values of an empty object completed by defaults.
  static let mostDefaults = 10_000

  /// Returns which limit a schema exceeds, as a clause to follow “in which”, or `nil`.
  package static func fault(in schema: JSONValue) -> String? {
    var count = 0
    if let fault = fault(in: schema, depth: 0, count: &count) {
      return "the options' schema \(fault)"
    }
    guard SchemaDefaults(schema).mostCount <= mostDefaults else {
      return "the defaults of the options' schema expand to more than \(mostDefaults) values"
    }
    return nil
  }

  private static func fault(in value: JSONValue, depth: Int, count: inout Int) -> String? {
    count += 1
    guard count <= mostValues else { return "has more than \(mostValues) values" }
    guard depth <= greatestDepth else { return "is nested more than \(greatestDepth) deep" }
    switch value {
    case .object(let members):
      for (key, member) in members {
        guard key.utf8.count <= longestKey else {
          return "has the key \(quoted(key)), which has more than \(longestKey) bytes"
        }
        if let fault = fault(in: member, depth: depth + 1, count: &count) { return fault }
      }
    case .array(let elements):
      for element in elements {
        if let fault = fault(in: element, depth: depth + 1, count: &count) { return fault }
      }
    case .null, .bool, .integer, .number, .string:
      break
    }
    return nil
  }
}
