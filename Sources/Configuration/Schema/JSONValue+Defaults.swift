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
