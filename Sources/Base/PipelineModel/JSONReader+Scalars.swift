extension JSONReader {
  mutating func string() throws(JSONError) -> String {
    let start = index
    index += 1
    var text = try plain(in: start)
    while accept("\\") {
      text.unicodeScalars.append(try escape())
      text += try plain(in: start)
    }
    index += 1
    return text
  }

  /// Reads up to the closing quote or an escape; the string starts at `start`.
  private mutating func plain(in start: Int) throws(JSONError) -> String {
    let first = index
    var isASCII = true
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        // Most strings are ASCII, and validating them takes as long as everything else.
        if isASCII { return String(decoding: bytes[first..<index], as: UTF8.self) }
        guard let text = String(validating: bytes[first..<index], as: UTF8.self) else {
          throw JSONError(.syntax, "This string is not UTF-8.", offset: first)
        }
        return text
      case 0..<0x20:
        throw failure("Control characters in a string must be escaped")
      default:
        if bytes[index] >= 0x80 { isASCII = false }
        index += 1
      }
    }
    throw JSONError(.syntax, "This string has no closing quote.", offset: start)
  }

  /// Reads the escape after a backslash.
  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
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

  private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
    let start = index - 2
    let lead = try codeUnit()
    if let scalar = Unicode.Scalar(lead) { return scalar }
    if UTF16.isLeadSurrogate(UInt16(lead)), accept("\\"), accept("u") {
      let trail = try codeUnit()
      if (0xDC00...0xDFFF).contains(trail),
        let scalar = Unicode.Scalar(0x10000 + (lead - 0xD800) << 10 + (trail - 0xDC00))
      {
        return scalar
      }
    }
    throw JSONError(
      .syntax, "This escape is half of a surrogate pair; the other half is missing.", offset: start)
  }

  private mutating func codeUnit() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard index < bytes.count, let digit = Character(Unicode.Scalar(bytes[index])).hexDigitValue
      else { throw failure("Expected four hexadecimal digits after \\u") }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }

  mutating func number() throws(JSONError) -> JSONValue {
    let start = index
    var isWhole = true
    _ = accept("-")
    // A number starts with a single zero or with another digit.
    if !accept("0") { try digits() }
    if accept(".") {
      isWhole = false
      try digits()
    }
    if accept("e") || accept("E") {
      isWhole = false
      if !accept("+") { _ = accept("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if isWhole, let value = Int(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw JSONError(.syntax, "The number \(quoted(text)) is out of range.", offset: start)
    }
    // As `Codable` decodes it, so that both return equal values.
    return Int(exactly: value).map { .integer($0) } ?? .number(value)
  }

  private mutating func digits() throws(JSONError) {
    let start = index
    while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
    guard index > start else { throw failure("Expected a digit") }
  }
}
