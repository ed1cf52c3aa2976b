import PipelineModel

/// A strict reader of JSON (RFC 8259) that knows where each value stands and sees keys
/// that an object has twice.
struct JSONReader {
  /// What was read.
  struct Document {
    /// The value; of a key that an object has twice, the last counts.
    var value: JSONValue
    /// Where each value begins, by its pointer, in bytes from the beginning.
    var offsets: [String: Int]
    /// Keys that an object has more than once: the pointer, and where it is the second time.
    var duplicates: [(pointer: String, key: String, offset: Int)]
  }

  /// Why reading ended early.
  struct Failure: Error {
    var code: ConfigurationError.Code
    var message: String
    var offset: Int
  }

  /// How deep arrays and objects may be in each other, so that no input exhausts the stack.
  static let greatestDepth = 64

  private let bytes: [UInt8]
  private var index = 0
  private var offsets: [String: Int] = [:]
  private var duplicates: [(pointer: String, key: String, offset: Int)] = []

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads one value and nothing behind it.
  static func read(_ bytes: [UInt8]) throws(Failure) -> Document {
    var reader = JSONReader(bytes)
    // RFC 8259, section 8.1 lets a reader ignore a byte order mark, which some editors write.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.index = 3 }
    reader.skipSpace()
    let value = try reader.value(at: "", depth: 0)
    reader.skipSpace()
    guard reader.index == bytes.count else {
      throw reader.failure("Expected the end of the file after the value")
    }
    return Document(value: value, offsets: reader.offsets, duplicates: reader.duplicates)
  }

  private func failure(_ message: String, at offset: Int? = nil) -> Failure {
    let offset = offset ?? index
    var found = "the end of the file"
    if offset < bytes.count {
      let length = bytes[offset...].dropFirst().prefix(3).prefix { $0 & 0xC0 == 0x80 }.count + 1
      found = quoted(String(decoding: bytes[offset..<(offset + length)], as: UTF8.self))
    }
    return Failure(code: .syntax, message: "\(message), found \(found).", offset: offset)
  }

  private mutating func skipSpace() {
    while index < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[index]) { index += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func value(at pointer: String, depth: Int) throws(Failure) -> JSONValue {
    offsets[pointer] = index
    guard index < bytes.count else { throw failure("Expected a value") }
    switch bytes[index] {
    case UInt8(ascii: "{"): return .object(try object(at: pointer, depth: depth + 1))
    case UInt8(ascii: "["): return .array(try array(at: pointer, depth: depth + 1))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: return try word()
    }
  }

  private func check(_ depth: Int) throws(Failure) {
    guard depth <= Self.greatestDepth else {
      throw Failure(
        code: .tooLarge,
        message: "Lists and objects are more than \(Self.greatestDepth) deep in each other.",
        offset: index)
    }
  }

  private mutating func object(
    at pointer: String, depth: Int
  ) throws(Failure) -> [String: JSONValue] {
    try check(depth)
    index += 1
    var members: [String: JSONValue] = [:]
    skipSpace()
    if take("}") { return members }
    while true {
      let start = index
      guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
        throw failure("Expected a key in double quotes")
      }
      let key = try string()
      skipSpace()
      guard take(":") else { throw failure("Expected a colon after the key \(quoted(key))") }
      skipSpace()
      let place = JSONPointer.appending(key, to: pointer)
      if members[key] != nil { duplicates.append((place, key, start)) }
      members[key] = try value(at: place, depth: depth)
      skipSpace()
      if take("}") { return members }
      guard take(",") else { throw failure("Expected a comma or “}”") }
      skipSpace()
    }
  }

  private mutating func array(at pointer: String, depth: Int) throws(Failure) -> [JSONValue] {
    try check(depth)
    index += 1
    var elements: [JSONValue] = []
    skipSpace()
    if take("]") { return elements }
    while true {
      let place = JSONPointer.appending(elements.count, to: pointer)
      elements.append(try value(at: place, depth: depth))
      skipSpace()
      if take("]") { return elements }
      guard take(",") else { throw failure("Expected a comma or “]”") }
      skipSpace()
    }
  }

  private mutating func word() throws(Failure) -> JSONValue {
    for (text, value) in [("true", .bool(true)), ("false", .bool(false)), ("null", JSONValue.null)]
    where bytes[index...].starts(with: text.utf8) {
      index += text.utf8.count
      return value
    }
    throw failure("Expected a value")
  }

  private mutating func number() throws(Failure) -> JSONValue {
    let start = index
    var isWhole = true
    _ = take("-")
    // A number begins with one zero or another digit.
    if !take("0") { try digits() }
    if take(".") {
      isWhole = false
      try digits()
    }
    if take("e") || take("E") {
      isWhole = false
      if !take("+") { _ = take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if isWhole, let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw Failure(
        code: .syntax, message: "The number \(quoted(text)) is out of range.", offset: start)
    }
    return .number(value)
  }

  private mutating func digits() throws(Failure) {
    let start = index
    while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
    guard index > start else { throw failure("Expected a digit") }
  }

  private mutating func string() throws(Failure) -> String {
    let start = index
    index += 1
    var text = ""
    var run = index
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        text += try plain(run..<index)
        index += 1
        return text
      case UInt8(ascii: "\\"):
        text += try plain(run..<index)
        index += 1
        text.unicodeScalars.append(try escape())
        run = index
      case 0..<0x20:
        throw failure("Control characters in a text must be escaped")
      default:
        index += 1
      }
    }
    throw Failure(
      code: .syntax, message: "A text begins here and has no closing quote.", offset: start)
  }

  private func plain(_ range: Range<Int>) throws(Failure) -> String {
    guard let text = String(validating: bytes[range], as: UTF8.self) else {
      throw Failure(code: .syntax, message: "This text is not UTF-8.", offset: range.lowerBound)
    }
    return text
  }

  private mutating func escape() throws(Failure) -> Unicode.Scalar {
    guard index < bytes.count else { throw failure("Expected an escape") }
    let byte = bytes[index]
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape()
    default:
      throw failure(
        "Expected one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", at: index - 1)
    }
  }

  private mutating func unicodeEscape() throws(Failure) -> Unicode.Scalar {
    let start = index - 2
    let lead = try codeUnit()
    if let scalar = Unicode.Scalar(lead) { return scalar }
    if UTF16.isLeadSurrogate(UInt16(lead)), take("\\"), take("u") {
      let trail = try codeUnit()
      if (0xDC00...0xDFFF).contains(trail),
        let scalar = Unicode.Scalar(0x10000 + (lead - 0xD800) << 10 + (trail - 0xDC00))
      {
        return scalar
      }
    }
    throw Failure(
      code: .syntax, message: "This escape is half of a pair, and the other half is missing.",
      offset: start)
  }

  private mutating func codeUnit() throws(Failure) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue
      else { throw failure("Expected four hexadecimal digits after \\u") }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }
}

extension JSONReader {
  /// A place in a text for people.
  struct Place {
    private var offset = 0
    /// The line, from 1.
    private(set) var line = 1
    /// The column in characters, from 1.
    private(set) var column = 1

    /// Moves on; never back.
    mutating func advance(to target: Int, in bytes: [UInt8]) {
      while offset < min(target, bytes.count) {
        if bytes[offset] == 0x0A {
          line += 1
          column = 1
        } else if offset + 1 == bytes.count || bytes[offset + 1] & 0xC0 != 0x80 {
          // A UTF-8 sequence counts once, with its last byte.
          column += 1
        }
        offset += 1
      }
    }
  }
}
