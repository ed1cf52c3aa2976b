import PipelineModel

/// Reads JSON text into a `JSONValue` without `Codable`.
///
/// Facts are read for each asset of a list and for each claimed job.
/// `JSONDecoder` took 0.3 ms for ten members on the way to a `JSONValue`,
/// because each type that a value is not of costs it a thrown error; this
/// takes some microseconds. Source: RFC 8259.
struct JSONReader {
  private let bytes: [UInt8]
  private var index = 0

  /// More nesting than this is refused, so that no text can exhaust the stack.
  private static let deepest = 256

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a whole text, or returns `nil` where it is not JSON.
  static func value(of bytes: [UInt8]) -> JSONValue? {
    var reader = JSONReader(bytes)
    guard let value = reader.value(depth: 0) else { return nil }
    reader.skipSpace()
    // Not by `?:`, in which `nil` would be `JSONValue.null`.
    if reader.next != nil { return nil }
    return value
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { index += 1 }
  }

  /// Steps over a byte if it is the next one.
  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private mutating func value(depth: Int) -> JSONValue? {
    skipSpace()
    guard let byte = next, depth < Self.deepest else { return nil }
    switch byte {
    case UInt8(ascii: "{"): return object(depth: depth)
    case UInt8(ascii: "["): return array(depth: depth)
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return word("true", .bool(true))
    case UInt8(ascii: "f"): return word("false", .bool(false))
    case UInt8(ascii: "n"): return word("null", .null)
    default: return number()
    }
  }

  private mutating func word(_ word: String, _ value: JSONValue) -> JSONValue? {
    guard bytes[index...].starts(with: word.utf8) else { return nil }
    index += word.utf8.count
    return value
  }

  private mutating func object(depth: Int) -> JSONValue? {
    index += 1
    var members: [String: JSONValue] = [:]
    skipSpace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipSpace()
      guard next == UInt8(ascii: "\""), let key = string() else { return nil }
      skipSpace()
      guard take(UInt8(ascii: ":")), let value = value(depth: depth + 1) else { return nil }
      members[key] = value
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { return nil }
    return .object(members)
  }

  private mutating func array(depth: Int) -> JSONValue? {
    index += 1
    var elements: [JSONValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return .array(elements) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      elements.append(value)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { return nil }
    return .array(elements)
  }

  private mutating func number() -> JSONValue? {
    let start = index
    while let byte = next, Self.isOfNumber(byte) { index += 1 }
    guard let first = bytes[start..<index].first, first != UInt8(ascii: "+") else { return nil }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if let integer = Int(text) { return .integer(integer) }
    guard let number = Double(text), number.isFinite else { return nil }
    // As `Codable` reads it: a whole number is an integer, however it is written.
    return Int(exactly: number).map { .integer($0) } ?? .number(number)
  }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
      UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  private mutating func string() -> String? {
    index += 1
    let start = index
    while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
      index += 1
    }
    if take(UInt8(ascii: "\"")) {
      return String(validating: bytes[start..<(index - 1)], as: UTF8.self)
    }
    var text = Array(bytes[start..<index])
    while let byte = next {
      index += 1
      if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard let scalar = escape() else { return nil }
      text.append(contentsOf: String(scalar).utf8)
    }
    return nil
  }

  /// The character that stands behind a backslash.
  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return unicodeEscape()
    default: return nil
    }
  }

  private mutating func unicodeEscape() -> Unicode.Scalar? {
    guard let unit = codeUnit() else { return nil }
    guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) }
    guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let low = codeUnit(),
      (0xDC00..<0xE000).contains(low)
    else { return nil }
    return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
  }

  private mutating func codeUnit() -> UInt32? {
    guard index + 4 <= bytes.count,
      let pair = Hexadecimal.decode(bytes[index..<(index + 4)])
    else { return nil }
    index += 4
    return UInt32(pair[0]) << 8 | UInt32(pair[1])
  }
}
