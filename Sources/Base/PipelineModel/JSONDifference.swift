/// A place at which two values differ.
package struct JSONDifference: Hashable, Sendable {
  /// The place, as a JSON pointer (RFC 6901).
  package var pointer: String
  /// What the values have there; `nil` for nothing.
  package var first: JSONValue?
  package var second: JSONValue?

  /// Returns the first one, in the order of keys; `nil` if the values are equal.
  package static func first(
    between first: JSONValue?, _ second: JSONValue?, at pointer: String = ""
  ) -> JSONDifference? {
    let parts: [(name: String, first: JSONValue?, second: JSONValue?)]
    switch (first, second) {
    case (.object(let one), .object(let other)):
      let names = Set(one.keys).union(other.keys).sorted()
      parts = names.map { (escaped($0), one[$0], other[$0]) }
    case (.array(let one), .array(let other)):
      parts = (0..<max(one.count, other.count)).map { place in
        let element = { (list: [JSONValue]) in place < list.count ? list[place] : nil }
        return ("\(place)", element(one), element(other))
      }
    default:
      return first == second ? nil : Self(pointer: pointer, first: first, second: second)
    }
    return parts.lazy.compactMap {
      Self.first(between: $0.first, $0.second, at: "\(pointer)/\($0.name)")
    }.first
  }

  private static func escaped(_ name: String) -> String {
    name.replacing("~", with: "~0").replacing("/", with: "~1")
  }
}
