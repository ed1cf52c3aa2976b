/// The syntax of a media type, such as `image/svg+xml`.
///
/// Source: RFC 6838, section 4.2, “restricted-name”.
enum MediaTypeCheck {
  private static let marks = Set("!#$&-^_.+".utf8)

  /// Whether text is a type and a subtype, without parameters.
  static func isType(_ text: String) -> Bool {
    let parts = parts(of: text)
    return parts.count == 2 && parts.allSatisfy(isName)
  }

  /// Whether text is a media type pattern: `image/jpeg`, `image/*` or `*/*`.
  static func isPattern(_ text: String) -> Bool {
    let parts = parts(of: text)
    guard parts.count == 2 else { return false }
    return (isName(parts[0]) || text == "*/*") && (isName(parts[1]) || parts[1] == "*")
  }

  private static func parts(of text: String) -> [Substring] {
    text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
  }

  private static func isName(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, isPlain(first) else { return false }
    return text.utf8.count <= 127 && text.utf8.allSatisfy { isPlain($0) || marks.contains($0) }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
