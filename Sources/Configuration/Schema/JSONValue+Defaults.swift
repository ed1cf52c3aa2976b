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
    SchemaDefaults(schema).filled(self)
  }

  /// The value without what the defaults of a schema say as well, numbers made canonical.
  ///
  /// Two values that mean the same under the schema become equal, whether a default is spelled
  /// out or not. That makes it the form that fingerprints are taken of.
  package func removingDefaults(_ schema: JSONValue) -> JSONValue {
    SchemaDefaults(schema).reduced(canonical)
  }
}
