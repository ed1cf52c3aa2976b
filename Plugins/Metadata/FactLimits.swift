import PipelineModel

/// Limits on the facts from a file, which keep the record small.
struct FactLimits {
  /// The most bytes of a text; a longer one is cut.
  static let text = 16 << 10
  /// The most values of a list; longer lists of texts are cut, longer lists of numbers left out.
  static let values = 256
  /// The most tags of a family that are read.
  static let tags = 1_000
  /// The most bytes of a tag's name; tags with longer names, which only XMP allows, are left out.
  static let name = 256
  /// The most bytes of all names and values together.
  static let total = 256 << 10

  private var room = FactLimits.total
  /// The number of tags and values that were cut or left out.
  private(set) var left = 0

  mutating func leaveOut(_ count: Int = 1) { left += count }

  /// Adds a tag if there is room for it.
  mutating func add(_ value: JSONValue, _ name: String, to facts: inout [String: JSONValue]) {
    guard name.utf8.count <= Self.name else { return leaveOut() }
    let value = bounded(value)
    // Quotes, commas and escapes count at a flat rate.
    let size = name.utf8.count + 4 + Self.size(value)
    guard size <= room else { return leaveOut() }
    room -= size
    facts[name] = value
  }

  private mutating func bounded(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text) where text.utf8.count > Self.text:
      leaveOut()
      var end = text.utf8.index(text.utf8.startIndex, offsetBy: Self.text)
      while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
      return .string(String(text[..<end]))
    case .array(let values): return .array(values.map { bounded($0) })
    case .object(let members): return .object(members.mapValues { bounded($0) })
    default: return value
    }
  }

  private static func size(_ value: JSONValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count + 3
    case .array(let values): values.reduce(2) { $0 + size($1) }
    case .object(let members): members.reduce(2) { $0 + $1.key.utf8.count + 4 + size($1.value) }
    default: 24
    }
  }
}
