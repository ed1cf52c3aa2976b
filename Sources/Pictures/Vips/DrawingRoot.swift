import Containers

/// The start tag of an SVG's root element.
///
/// Source: XML 1.0, sections 2.8 and 3.1; SVG 2, sections 8.2 and 8.6.
package struct DrawingRoot {
  private let bytes: [UInt8]
  private var at = 0
  /// Where the element's name ends.
  private(set) var nameEnd = 0
  /// Where the values of its attributes are, without their quotes.
  private(set) var values: [String: Range<Int>] = [:]
  /// Whether the end of the tag was found.
  private(set) var isWhole = false

  /// How many bytes at the start of a file are looked at.
  static let headLength = 1 << 16

  /// Finds the root element; `nil` if it is none of an SVG, or does not begin within these bytes.
  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    guard skipProlog(), let name = readName(), name == "svg" || name.hasSuffix(":svg") else {
      return nil
    }
    nameEnd = at
    readAttributes()
  }

  /// Whether a file begins as an SVG, whatever comes before its root element.
  package static func isDrawing(_ head: [UInt8]) -> Bool {
    DrawingRoot(Array(EncodedText.decode(head).utf8)) != nil
  }

  /// The text of an attribute's value.
  func text(_ name: String) -> String? {
    values[name].map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  // MARK: Reading

  private func has(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

  /// Moves behind the next place of a text; `false` if there is none.
  private mutating func skip(to text: String) -> Bool {
    let wanted = Array(text.utf8)
    while at + wanted.count <= bytes.count {
      if has(text) {
        at += wanted.count
        return true
      }
      at += 1
    }
    return false
  }

  private mutating func skipSpace() {
    while at < bytes.count, Self.isSpace(bytes[at]) { at += 1 }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x09, 0x0A, 0x0D, 0x20].contains(byte) }

  /// Moves to the root element's name.
  private mutating func skipProlog() -> Bool {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
    while true {
      skipSpace()
      if has("<!--") {
        guard skip(to: "-->") else { return false }
      } else if has("<?") {
        guard skip(to: "?>") else { return false }
      } else if has("<!DOCTYPE") {
        guard skipDocumentType() else { return false }
      } else if has("<") {
        at += 1
        return true
      } else {
        return false
      }
    }
  }

  /// Moves behind a document type, which may have declarations in brackets.
  private mutating func skipDocumentType() -> Bool {
    var depth = 0
    while at < bytes.count {
      let byte = bytes[at]
      if has("<!--") {
        guard skip(to: "-->") else { return false }
        continue
      }
      at += 1
      switch byte {
      case UInt8(ascii: "\""): guard skip(to: "\"") else { return false }
      case UInt8(ascii: "'"): guard skip(to: "'") else { return false }
      case UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ">") where depth == 0: return true
      default: break
      }
    }
    return false
  }

  /// Reads a name; `nil` if what ends it is not there.
  private mutating func readName() -> String? {
    let start = at
    while at < bytes.count, !Self.isSpace(bytes[at]), !Array("/>=\"'<".utf8).contains(bytes[at]) {
      at += 1
    }
    guard at > start, at < bytes.count else { return nil }
    return String(decoding: bytes[start..<at], as: UTF8.self)
  }

  private mutating func readAttributes() {
    while true {
      skipSpace()
      guard let name = readName() else {
        isWhole = has(">") || has("/")
        return
      }
      skipSpace()
      guard has("=") else { return }
      at += 1
      skipSpace()
      guard has("\"") || has("'") else { return }
      let quote = has("\"") ? "\"" : "'"
      at += 1
      let start = at
      guard skip(to: quote) else { return }
      values[name] = start..<(at - 1)
    }
  }
}
