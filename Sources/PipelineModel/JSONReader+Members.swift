/// The value of a member, as `readMembers` passes it.
package enum JSONMember: Hashable, Sendable {
  case string(String)
  /// An integer of 64 bits and a sign, without fraction or exponent.
  case whole(UInt64, isNegative: Bool)
  /// Anything else, including larger numbers.
  case other(JSONValue)
}

extension JSONReader {
  /// Reads one object and nothing after it, and passes on its members one by one.
  ///
  /// Collecting them in a dictionary takes three times as long. A duplicate key is passed on twice.
  package static func readMembers(
    of bytes: [UInt8], _ body: (String, JSONMember) -> Void
  ) throws(JSONError) {
    var reader = JSONReader(bytes, depth: 512, recordsPlaces: false)
    reader.skipSpace()
    guard reader.accept("{") else { throw reader.failure("Expected an object") }
    reader.skipSpace()
    if !reader.accept("}") { try reader.readMembers(body) }
    reader.skipSpace()
    guard reader.index == bytes.count else {
      throw reader.failure("Expected nothing after the value")
    }
  }

  private mutating func readMembers(
    _ body: (String, JSONMember) -> Void
  ) throws(JSONError) {
    while true {
      skipSpace()
      guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
        throw failure("Expected a key in double quotes")
      }
      let key = try string()
      skipSpace()
      guard accept(":") else { throw failure("Expected a colon after the key \(quoted(key))") }
      skipSpace()
      body(key, try member())
      skipSpace()
      if accept("}") { return }
      guard accept(",") else { throw failure("Expected a comma or “}”") }
    }
  }

  private mutating func member() throws(JSONError) -> JSONMember {
    guard index < bytes.count else { throw failure("Expected a value") }
    if bytes[index] == UInt8(ascii: "\"") { return .string(try string()) }
    if let whole = wholeNumber() { return whole }
    return .other(try value(at: "", depth: 1))
  }

  /// Reads an integer of 64 bits and a sign; consumes nothing else.
  private mutating func wholeNumber() -> JSONMember? {
    let start = index
    let isNegative = accept("-")
    var magnitude: UInt64 = 0
    let first = index
    while index < bytes.count, (0x30...0x39).contains(bytes[index]) {
      let (tens, isLarge) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = tens.addingReportingOverflow(UInt64(bytes[index] - 0x30))
      if isLarge || isLarger { break }
      magnitude = sum
      index += 1
    }
    let isPlain =
      index > first && (bytes[first] != 0x30 || index == first + 1)
      && !(index < bytes.count && ".eE0123456789".utf8.contains(bytes[index]))
    guard isPlain else {
      index = start
      return nil
    }
    return .whole(magnitude, isNegative: isNegative)
  }
}
