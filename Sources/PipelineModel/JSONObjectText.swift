/// Writes one JSON object on a line, member by member, much faster than `Codable`.
///
/// Names must be plain ASCII and in order; this is not checked.
package struct JSONObjectText {
  /// The bytes so far, without the closing brace.
  private(set) package var bytes: [UInt8] = []

  /// Starts an object.
  package init() {
    bytes.reserveCapacity(512)
    bytes.append(UInt8(ascii: "{"))
  }

  /// Adds a string; omits the member if it is `nil`.
  package mutating func add(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    begin(name)
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 { append(escaping: byte) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Adds an integer; omits the member if it is `nil`.
  package mutating func add(_ name: StaticString, _ number: (some BinaryInteger)?) {
    guard let number else { return }
    begin(name)
    bytes.append(contentsOf: String(number).utf8)
  }

  /// Adds a Boolean; omits the member if it is `nil`.
  package mutating func add(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    begin(name)
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  private mutating func begin(_ name: StaticString) {
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Source: RFC 8259, section 7.
  private mutating func append(escaping byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0x08: bytes.append(contentsOf: Array("\\b".utf8))
    case 0x09: bytes.append(contentsOf: Array("\\t".utf8))
    case 0x0A: bytes.append(contentsOf: Array("\\n".utf8))
    case 0x0C: bytes.append(contentsOf: Array("\\f".utf8))
    case 0x0D: bytes.append(contentsOf: Array("\\r".utf8))
    case 0..<0x20:
      let digits = String(byte, radix: 16)
      bytes.append(contentsOf: Array("\\u".utf8))
      bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
      bytes.append(contentsOf: digits.utf8)
    default: bytes.append(byte)
    }
  }
}
