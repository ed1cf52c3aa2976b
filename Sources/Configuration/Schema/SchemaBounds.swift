package import PipelineModel

/// What a schema that a plugin wrote may hold at most, so that nothing that is done with it takes
/// long or makes much.
package enum SchemaBounds {
  /// How deep its lists and objects may be in each other.
  static let greatestDepth = 128
  /// The most values, those of defaults and examples among them.
  static let mostValues = 10_000
  /// The most bytes of a key: each place in a schema is named by all keys above it.
  static let longestKey = 128
  /// The most values that an object without any keys may have once defaults are filled in.
  static let mostDefaults = 10_000

  /// Returns what goes beyond a bound, to follow “in which”, or `nil`.
  package static func fault(in schema: JSONValue) -> String? {
    var count = 0
    if let fault = fault(in: schema, depth: 0, count: &count) {
      return "the options' schema \(fault)"
    }
    guard SchemaDefaults(schema).mostCount <= mostDefaults else {
      return "the defaults of the options' schema make more than \(mostDefaults) values"
    }
    return nil
  }

  private static func fault(
    in value: JSONValue, depth: Int, count: inout Int
  ) -> String? {
    count += 1
    guard count <= mostValues else { return "has more than \(mostValues) values" }
    guard depth <= greatestDepth else { return "is more than \(greatestDepth) deep" }
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
