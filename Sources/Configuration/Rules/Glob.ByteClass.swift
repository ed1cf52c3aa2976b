extension Glob {
  /// A set of bytes in brackets.
  struct ByteClass: Sendable, Hashable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private var isNegated = false

    func contains(_ byte: UInt8) -> Bool {
      switch byte {
      case 0..<64: low & 1 << byte != 0
      case 64..<128: high & 1 << (byte - 64) != 0
      default: isNegated
      }
    }

    private mutating func insert(_ byte: UInt8) {
      if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte - 64) }
    }

    /// Parses a class up to and including its closing bracket.
    init(after rest: inout ArraySlice<UInt8>) throws(Malformed) {
      let close = UInt8(ascii: "]")
      if let first = rest.first, first == UInt8(ascii: "!") || first == UInt8(ascii: "^") {
        isNegated = true
        rest = rest.dropFirst()
      }
      var isFirst = true
      while true {
        guard let next = rest.first else {
          throw Malformed(reason: "has a “[” without a “]” in the same component")
        }
        // A leading bracket stands for itself, as in glob(7).
        if next == close, !isFirst { break }
        isFirst = false
        let lower = try Self.member(&rest)
        var upper = lower
        if rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first, end != close {
          rest = rest.dropFirst()
          upper = try Self.member(&rest)
        }
        guard lower <= upper else {
          throw Malformed(reason: "has a range in brackets that runs backwards")
        }
        for byte in lower...upper {
          insert(byte.lowercased)
          insert(byte.uppercased)
        }
      }
      rest = rest.dropFirst()
      if isNegated {
        low = ~low
        high = ~high
      }
    }

    private static func member(_ rest: inout ArraySlice<UInt8>) throws(Malformed) -> UInt8 {
      guard var byte = rest.popFirst() else {
        throw Malformed(reason: "has a “[” without a “]” in the same component")
      }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else {
          throw Malformed(reason: "has a “[” without a “]” in the same component")
        }
        byte = escaped
      }
      guard byte < 128 else {
        throw Malformed(
          reason: "has a non-ASCII character in brackets, which match one byte")
      }
      return byte
    }
  }
}
