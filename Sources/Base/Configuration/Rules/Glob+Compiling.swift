package import PipelineModel

extension Glob {
  private static let slash = UInt8(ascii: "/")

  /// Compiles a pattern.
  ///
  /// - Throws: `badGlob` with the reason as a sentence.
  package init(_ pattern: String) throws(ConfigurationError) {
    try self.init(BytePath(pattern))
  }

  /// Compiles a pattern of bytes.
  ///
  /// - Throws: `badGlob` with the reason as a sentence.
  package init(_ pattern: BytePath) throws(ConfigurationError) {
    func refuse(_ reason: String) -> ConfigurationError {
      ConfigurationError(code: .badGlob, message: "The pattern “\(pattern.printable)” \(reason).")
    }
    guard !pattern.isEmpty else { throw refuse("is empty; “**” matches everything") }
    guard !pattern.bytes.contains(0) else { throw refuse("has a NUL character, which no path has") }

    var body = pattern.bytes[...]
    let isAnchored = body.first == Self.slash
    if isAnchored { body = body.dropFirst() }
    let matchesFoldersOnly = body.last == Self.slash
    if matchesFoldersOnly { body = body.dropLast() }

    var segments: [Segment] = []
    for part in body.split(separator: Self.slash, omittingEmptySubsequences: false) {
      switch Array(part) {
      case []:
        throw refuse("has an empty component; write one slash between names")
      case Array(".".utf8), Array("..".utf8):
        throw refuse("contains “.” or “..”, but patterns are relative to the source")
      case Array("**".utf8):
        // Two in a row are equivalent to one.
        if segments.last != .folders { segments.append(.folders) }
      default:
        do {
          segments.append(.component(try Self.tokens(of: part)))
        } catch {
          throw refuse(error.reason)
        }
      }
    }
    self.init(
      pattern: pattern, matchesFoldersOnly: matchesFoldersOnly,
      isName: !isAnchored && segments.count == 1, segments: segments)
  }

  /// Why a component is invalid, as the end of a sentence about the pattern.
  struct Malformed: Error {
    let reason: String
  }

  private static func tokens(of component: ArraySlice<UInt8>) throws(Malformed) -> [Token] {
    var rest = component
    var tokens: [Token] = []
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "*"):
        if tokens.last != .any { tokens.append(.any) }
      case UInt8(ascii: "?"):
        tokens.append(.one)
      case UInt8(ascii: "["):
        tokens.append(.oneOf(try ByteClass(after: &rest)))
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else {
          throw Malformed(reason: "has a backslash at the end of a component")
        }
        tokens.append(.byte(escaped.lowercased))
      default:
        tokens.append(.byte(byte.lowercased))
      }
    }
    return tokens
  }
}

extension UInt8 {
  /// The lowercase form of an ASCII letter; any other byte unchanged.
  var lowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
  /// The uppercase form of an ASCII letter; any other byte unchanged.
  var uppercased: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }
}

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
        throw Malformed(reason: "has a non-ASCII character in brackets, which match one byte")
      }
      return byte
    }
  }
}
