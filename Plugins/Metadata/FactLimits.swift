import PipelineModel

/// The record that a file fills, and the bounds that keep it small whatever the file.
struct FactLimits {
  /// Bytes of one text; a longer one is cut.
  static let text = 16 << 10
  /// Values of one list; of a longer list of texts the first are kept, one of numbers is left out.
  static let values = 256
  /// Tags of one family that are looked at.
  static let tags = 1_000
  /// Bytes of a tag's name; a longer one, which only XMP can have, is left out.
  static let name = 256
  /// Bytes of all names and values of a file together.
  static let total = 256 << 10

  private var room = FactLimits.total
  /// How many tags and values were left out or cut because of a bound.
  private(set) var left = 0

  /// Notes that something was left out.
  mutating func leaveOut(_ count: Int = 1) { left += count }

  /// Adds a tag unless there is no room for it.
  mutating func add(_ value: JSONValue, _ name: String, to facts: inout [String: JSONValue]) {
    guard name.utf8.count <= Self.name else { return leaveOut() }
    let value = bounded(value)
    // What quotes, commas and escapes take is counted by the piece.
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
