package import PipelineModel

extension JSONValue {
  /// The value with every number that is whole written as such, so that 80 and 80.0 are one.
  package var canonical: JSONValue {
    switch self {
    case .number(let value): Int(exactly: value).map(JSONValue.integer) ?? self
    case .array(let elements): .array(elements.map(\.canonical))
    case .object(let members): .object(members.mapValues(\.canonical))
    default: self
    }
  }

  /// Whether both values mean the same: 80 and 80.0 do.
  package func means(_ other: JSONValue) -> Bool { canonical == other.canonical }

  /// The value with defaults of a schema where it says nothing.
  ///
  /// Objects are filled in wherever they are, also in lists. An object that is absent and has no
  /// default of its own stays absent.
  package func fillingDefaults(_ schema: JSONValue) -> JSONValue {
    fillingDefaults(schema, root: schema)
  }

  /// The value without what the defaults of a schema say as well, numbers made canonical.
  ///
  /// Two values that mean the same under the schema become equal, whether a default is spelled
  /// out or not. That makes it the form that fingerprints are taken of.
  package func removingDefaults(_ schema: JSONValue) -> JSONValue {
    canonical.removingDefaults(schema, root: schema)
  }

  private func fillingDefaults(_ schema: JSONValue, root: JSONValue) -> JSONValue {
    let schema = OptionSchema.resolved(schema, in: root)
    switch self {
    case .object(var members):
      for (key, property) in schema["properties"]?.object ?? [:] {
        let property = OptionSchema.resolved(property, in: root)
        guard let value = members[key] ?? property["default"] else { continue }
        members[key] = value.fillingDefaults(property, root: root)
      }
      return .object(members)
    case .array(let elements):
      guard let items = schema["items"] else { return self }
      return .array(elements.map { $0.fillingDefaults(items, root: root) })
    default:
      return self
    }
  }

  private func removingDefaults(_ schema: JSONValue, root: JSONValue) -> JSONValue {
    let schema = OptionSchema.resolved(schema, in: root)
    switch self {
    case .object(var members):
      for (key, property) in schema["properties"]?.object ?? [:] {
        guard let value = members[key] else { continue }
        let property = OptionSchema.resolved(property, in: root)
        let reduced = value.removingDefaults(property, root: root)
        let standard = property["default"]?.canonical.removingDefaults(property, root: root)
        members[key] = reduced
        if reduced == standard { members.removeValue(forKey: key) }
      }
      return .object(members)
    case .array(let elements):
      guard let items = schema["items"] else { return self }
      return .array(elements.map { $0.removingDefaults(items, root: root) })
    default:
      return self
    }
  }
}
