extension JSONReader {
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
