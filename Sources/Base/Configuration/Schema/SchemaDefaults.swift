package import PipelineModel

extension JSONValue {
  /// The value with whole numbers as integers, so that 80 and 80.0 are equal.
  package var canonical: JSONValue {
    switch self {
    case .number(let value): Int(exactly: value).map(JSONValue.integer) ?? self
    case .array(let elements): .array(elements.map(\.canonical))
    case .object(let members): .object(members.mapValues(\.canonical))
    default: self
    }
  }

  /// Whether both values are equivalent, like 80 and 80.0.
  package func means(_ other: JSONValue) -> Bool { canonical == other.canonical }

  /// The value completed by the defaults of a schema.
  ///
  /// Nested objects are completed, too, also those in lists. An absent object without a default
  /// stays absent.
  package func fillingDefaults(_ schema: JSONValue) -> JSONValue {
    SchemaDefaults(schema).filled(self)
  }

  /// The canonical value without members that equal the defaults of a schema.
  ///
  /// Values that are equivalent under the schema become equal, whether or not they state
  /// defaults. Fingerprints are computed from this form.
  package func removingDefaults(_ schema: JSONValue) -> JSONValue {
    SchemaDefaults(schema).reduced(canonical)
  }
}

/// The defaults of a schema, each computed once.
///
/// A default may omit members that have defaults themselves, recursively. Computing them anew at
/// each place would double time and output with each level.
final class SchemaDefaults: Sendable {
  private let contents: Contents
  private let standard: JSONValue?
  /// The canonical default without members that equal nested defaults.
  private let reducedStandard: JSONValue?
  /// The number of values of the completed default; 0 without one.
  private let standardCount: Int
  /// The largest number of values of a completed empty object, here or at any level inside.
  let mostCount: Int

  convenience init(_ schema: JSONValue) {
    // References in definitions are not followed, so there are no cycles.
    let definitions = (schema["$defs"]?.object ?? [:]).mapValues { SchemaDefaults($0, [:]) }
    self.init(schema, definitions)
  }

  private init(_ schema: JSONValue, _ definitions: [String: SchemaDefaults]) {
    let target = OptionSchema.definition(of: schema).flatMap { definitions[$0] }
    // Keywords next to a reference take precedence.
    let properties = schema["properties"]?.object?.mapValues { Self.make($0, definitions) }
    let items = schema["items"].map { Self.make($0, definitions) }
    let contents = Contents(
      properties: properties ?? target?.contents.properties ?? [:],
      items: items ?? target?.contents.items)
    self.contents = contents
    standard = schema["default"] ?? target?.standard
    reducedStandard = standard.map { contents.reduced($0.canonical) }
    standardCount = standard.map(contents.filledCount) ?? 0
    mostCount = max(
      contents.emptyCount, contents.items?.mostCount ?? 0,
      contents.properties.values.map(\.mostCount).max() ?? 0)
  }

  /// Shares the target's defaults if a reference has no keywords that matter here.
  private static func make(
    _ schema: JSONValue, _ definitions: [String: SchemaDefaults]
  ) -> SchemaDefaults {
    let isPlain = schema["properties"] == nil && schema["items"] == nil && schema["default"] == nil
    if isPlain, let target = OptionSchema.definition(of: schema).flatMap({ definitions[$0] }) {
      return target
    }
    return SchemaDefaults(schema, definitions)
  }

  /// The value completed by defaults.
  func filled(_ value: JSONValue) -> JSONValue { contents.filled(value) }

  /// A canonical value without members that equal the defaults.
  func reduced(_ value: JSONValue) -> JSONValue { contents.reduced(value) }

  /// The contents of objects and lists.
  private struct Contents {
    let properties: [String: SchemaDefaults]
    let items: SchemaDefaults?
    /// The number of values of a completed empty object.
    let emptyCount: Int

    /// Larger than any relevant count.
    private static let bound = 1 << 30

    init(properties: [String: SchemaDefaults], items: SchemaDefaults?) {
      self.properties = properties
      self.items = items
      emptyCount = properties.values.reduce(1) { min($0 + $1.standardCount, Self.bound) }
    }

    func filledCount(_ value: JSONValue) -> Int {
      switch value {
      case .object(let members):
        return members.reduce(emptyCount) { count, member in
          guard let property = properties[member.key] else { return min(count + 1, Self.bound) }
          let own = property.contents.filledCount(member.value)
          return min(count + own - property.standardCount, Self.bound)
        }
      case .array(let elements):
        return elements.reduce(1) {
          min($0 + (items?.contents.filledCount($1) ?? 1), Self.bound)
        }
      default:
        return 1
      }
    }

    func filled(_ value: JSONValue) -> JSONValue {
      switch value {
      case .object(var members):
        for (key, property) in properties {
          guard let value = members[key] ?? property.standard else { continue }
          members[key] = property.filled(value)
        }
        return .object(members)
      case .array(let elements):
        guard let items else { return value }
        return .array(elements.map(items.filled))
      default:
        return value
      }
    }

    func reduced(_ value: JSONValue) -> JSONValue {
      switch value {
      case .object(var members):
        for (key, value) in members {
          guard let property = properties[key] else { continue }
          let reduced = property.reduced(value)
          members[key] = reduced == property.reducedStandard ? nil : reduced
        }
        return .object(members)
      case .array(let elements):
        guard let items else { return value }
        return .array(elements.map(items.reduced))
      default:
        return value
      }
    }
  }
}
