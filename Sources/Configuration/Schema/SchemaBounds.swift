package import PipelineModel

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

  private static func fault(
    in value: JSONValue, depth: Int, count: inout Int
  ) -> String? {
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
