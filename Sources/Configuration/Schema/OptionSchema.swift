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
  /// The schema.
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
}

extension OptionSchema {
  private static let annotations: Set = [
    "title", "description", "default", "examples", "deprecated", "$schema", "$id", "$comment",
  ]
  /// The most errors reported for a schema.
  private static let mostErrors = 20
  private static let types = [
    "object", "array", "string", "number", "integer", "boolean", "null",
  ]

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
      case "type":
        let names = value.array?.map(\.string) ?? [value.string]
        if names.isEmpty || names.contains(where: { $0.map(types.contains) != true }) {
          report("must name types", at: place, into: &errors)
        }
      case "pattern":
        if let fault = patternFault(value) { report(fault, at: place, into: &errors) }
      case "enum":
        if value.array?.isEmpty != false { report("must be a list", at: place, into: &errors) }
      case "required":
        if value.array?.allSatisfy({ $0.string != nil }) != true {
          report("must be a list of strings", at: place, into: &errors)
        }
      case "minItems", "maxItems", "minLength", "maxLength":
        if value.integer.map({ $0 >= 0 }) != true {
          report("must be a whole number from 0", at: place, into: &errors)
        }
      case "minimum", "maximum":
        if value.double == nil { report("must be a number", at: place, into: &errors) }
      case "uniqueItems":
        if value.bool == nil { report("must be true or false", at: place, into: &errors) }
      case "x-uniqueBy":
        if value.string == nil { report("must be a string", at: place, into: &errors) }
      case "const":
        break
      default:
        if !annotations.contains(key), !key.hasPrefix("x-") {
          report("is a keyword that is not supported", at: place, into: &errors)
        }
      }
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
