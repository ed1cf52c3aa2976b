import FoundationEssentials

/// JSON as this project writes it, on one line with sorted keys and unescaped slashes, and reads it,
/// with `JSONReader`.
public enum JSONText {
  /// Encodes a value on one line with sorted keys.
  public static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Encodes a value on several lines, for people.
  public static func encodePretty(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Decodes a value from text.
  public static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value
  {
    try decode(type, from: text.utf8)
  }

  /// Decodes a value from UTF-8 bytes.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: some Sequence<UInt8>
  ) throws -> Value {
    try decode(JSONValue.self, from: bytes).decoded(as: type)
  }

  /// Decodes a value of any shape from UTF-8 bytes.
  public static func decode(
    _ type: JSONValue.Type, from bytes: some Sequence<UInt8>
  ) throws(JSONError) -> JSONValue {
    try JSONReader.read(Array(bytes)).value
  }
}

/// Writes one JSON object on a line, member by member, much faster than `Codable`.
///
/// Names must be plain ASCII and in order; this is not checked.
package struct JSONObjectText {
  /// The bytes so far, without the closing brace.
  private(set) package var bytes: [UInt8] = []

  package init() {
    bytes.reserveCapacity(512)
    bytes.append(UInt8(ascii: "{"))
  }

  /// Adds a string; omits the member if it is `nil`.
  package mutating func add(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    begin(name)
    bytes.append(quoting: text)
  }

  // Not generic, because a generic function is not specialized for another module.
  package mutating func add(_ name: StaticString, _ number: Int?) {
    add(name, number.map { Int64($0) })
  }

  package mutating func add(_ name: StaticString, _ number: UInt32?) {
    add(name, number.map { UInt64($0) })
  }

  package mutating func add(_ name: StaticString, _ number: UInt64?) {
    guard let number else { return }
    begin(name)
    bytes.append(decimal: number)
  }

  package mutating func add(_ name: StaticString, _ number: Int64?) {
    guard let number else { return }
    begin(name)
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    bytes.append(decimal: number.magnitude)
  }

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
}

extension [UInt8] {
  /// Appends the digits of a number.
  fileprivate mutating func append(decimal number: UInt64) {
    if number >= 10 { append(decimal: number / 10) }
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }

  /// Appends a JSON string. Source: RFC 8259, section 7.
  mutating func append(quoting text: String) {
    append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { bytes in
      // Nearly all texts have nothing to escape.
      if bytes.contains(where: Self.isEscaped) {
        for byte in bytes { append(escaping: byte) }
      } else {
        append(contentsOf: bytes)
      }
    }
    append(UInt8(ascii: "\""))
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private mutating func append(escaping byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      append(UInt8(ascii: "\\"))
      append(byte)
    case 0x08: append(contentsOf: "\\b".utf8)
    case 0x09: append(contentsOf: "\\t".utf8)
    case 0x0A: append(contentsOf: "\\n".utf8)
    case 0x0C: append(contentsOf: "\\f".utf8)
    case 0x0D: append(contentsOf: "\\r".utf8)
    case 0..<0x20:
      append(contentsOf: "\\u00".utf8)
      Hexadecimal.append(byte, to: &self)
    default: append(byte)
    }
  }
}

extension JSONValue {
  /// Appends the value as JSON without any space and with sorted keys.
  ///
  /// Unlike an encoder it can't fail, and is several times as fast: NaN and infinity become `null`.
  package func write(to text: inout [UInt8]) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .integer(let value): text += String(value).utf8
    case .number(let value): text += (value.isFinite ? "\(value)" : "null").utf8
    case .string(let value): text.append(quoting: value)
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        element.write(to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text.append(quoting: member.key)
        text.append(UInt8(ascii: ":"))
        member.value.write(to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  /// The value as indented JSON with sorted keys and lists of scalars on one line.
  ///
  /// Unlike an encoder it can't fail: NaN and infinity become `null`.
  package func formatted() -> String {
    var text: [UInt8] = []
    write(to: &text, indentation: "")
    return String(decoding: text, as: UTF8.self)
  }

  private func write(to text: inout [UInt8], indentation: String) {
    let deeper = indentation + "  "
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += "\(value)".utf8
    case .integer(let value): text += "\(value)".utf8
    case .number(let value): text += (value.isFinite ? "\(value)" : "null").utf8
    case .string(let value): text.append(quoting: value)
    case .array(let elements):
      let isPlain = elements.allSatisfy { $0.array == nil && $0.object == nil }
      text += "[".utf8
      for (index, element) in elements.enumerated() {
        if index > 0 { text += (isPlain ? ", " : ",").utf8 }
        if !isPlain { text += "\n\(deeper)".utf8 }
        element.write(to: &text, indentation: deeper)
      }
      text += (isPlain ? "]" : "\n\(indentation)]").utf8
    case .object(let members):
      text += "{".utf8
      for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        text += "\(index > 0 ? "," : "")\n\(deeper)".utf8
        text.append(quoting: member.key)
        text += ": ".utf8
        member.value.write(to: &text, indentation: deeper)
      }
      text += (members.isEmpty ? "}" : "\n\(indentation)}").utf8
    }
  }
}
