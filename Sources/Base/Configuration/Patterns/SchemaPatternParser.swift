/// A recursive-descent parser for patterns; its depth is bounded by that of the groups.
struct SchemaPatternParser {
  private let text: [Unicode.Scalar]
  private var index = 0
  private var depth = 0

  init(_ pattern: String) { text = Array(pattern.unicodeScalars) }

  mutating func whole() throws(SchemaPatternError) -> SchemaPatternNode {
    let node = try choice()
    // A choice ends at the end of the text or before an unmatched bracket.
    guard index == text.count else { throw SchemaPatternError("a “)” has no “(”") }
    return node
  }

  private var next: Unicode.Scalar? { index < text.count ? text[index] : nil }

  private mutating func accept(_ word: String) -> Bool {
    let word = Array(word.unicodeScalars)
    guard text[index...].starts(with: word) else { return false }
    index += word.count
    return true
  }

  private mutating func choice() throws(SchemaPatternError) -> SchemaPatternNode {
    var parts = [try sequence()]
    while accept("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(SchemaPatternError) -> SchemaPatternNode {
    var parts: [SchemaPatternNode] = []
    while let scalar = next, scalar != "|", scalar != ")" {
      let part = try part()
      guard let (least, most) = try quantifier() else {
        parts.append(part)
        continue
      }
      if case .place = part { throw SchemaPatternError("an assertion can't be repeated") }
      parts.append(.repeated(part, least: least, most: most))
    }
    return .sequence(parts)
  }

  private mutating func part() throws(SchemaPatternError) -> SchemaPatternNode {
    guard let scalar = next else { throw SchemaPatternError("it ends too early") }
    index += 1
    switch scalar {
    case "^": return .place(.start)
    case "$": return .place(.end)
    case ".": return .scalar(ScalarSet.lineEnds.complement)
    case "(": return try group()
    case "[": return .scalar(try scalarClass())
    case "\\":
      if accept("b") { return .place(.wordBoundary) }
      if accept("B") { return .place(.notWordBoundary) }
      return .scalar(try escapedSet(inClass: false))
    case "*", "+", "?": throw SchemaPatternError("“\(scalar)” has nothing to repeat")
    case "{", "}", "]": throw SchemaPatternError("“\(scalar)” stands alone; write “\\\(scalar)”")
    default: return .scalar(ScalarSet(scalar))
    }
  }

  private mutating func group() throws(SchemaPatternError) -> SchemaPatternNode {
    depth += 1
    defer { depth -= 1 }
    guard depth <= SchemaPattern.greatestDepth else {
      throw SchemaPatternError(
        "its groups are nested more than \(SchemaPattern.greatestDepth) deep")
    }
    if accept("?"), !accept(":") { try skipGroupName() }
    let node = try choice()
    guard accept(")") else { throw SchemaPatternError("a group has no end") }
    return node
  }

  /// Skips a name, which does not affect whether the pattern matches.
  private mutating func skipGroupName() throws(SchemaPatternError) {
    guard accept("<"), next != "=", next != "!" else {
      throw SchemaPatternError("lookahead and lookbehind are not supported")
    }
    guard let end = text[index...].firstIndex(of: ">") else {
      throw SchemaPatternError("a group's name has no “>”")
    }
    guard end > index else { throw SchemaPatternError("a group's name is empty") }
    index = end + 1
  }

  // MARK: Quantifiers

  private mutating func quantifier() throws(SchemaPatternError) -> (least: Int, most: Int?)? {
    let range: (Int, Int?)
    if accept("*") {
      range = (0, nil)
    } else if accept("+") {
      range = (1, nil)
    } else if accept("?") {
      range = (0, 1)
    } else if accept("{") {
      range = try counts()
    } else {
      return nil
    }
    // Laziness does not affect whether the pattern matches.
    _ = accept("?")
    return range
  }

  private mutating func counts() throws(SchemaPatternError) -> (Int, Int?) {
    guard let least = count() else { throw SchemaPatternError("a “{” is not followed by a number") }
    var most: Int? = least
    if accept(",") { most = count() }
    guard accept("}") else { throw SchemaPatternError("a “{” has no “}”") }
    if let most, most < least {
      throw SchemaPatternError("a repetition's numbers are out of order")
    }
    return (least, most)
  }

  /// Parses a number, limited to `bound`, which exceeds all allowed numbers.
  private mutating func count() -> Int? {
    let start = index
    var value = 0
    while let scalar = next, ("0"..."9").contains(scalar) {
      value = min(value * 10 + Int(scalar.value - 0x30), SchemaPatternNode.bound)
      index += 1
    }
    return index > start ? value : nil
  }

  // MARK: Classes

  private mutating func scalarClass() throws(SchemaPatternError) -> ScalarSet {
    let isNegated = accept("^")
    var ranges: [ClosedRange<UInt32>] = []
    while !accept("]") {
      let first = try classMember()
      // A dash at the end of the class stands for itself.
      let isRange = next == "-" && index + 1 < text.count && text[index + 1] != "]"
      guard isRange else {
        ranges += first.ranges
        continue
      }
      index += 1
      let last = try classMember()
      guard let low = first.single, let high = last.single else {
        throw SchemaPatternError("a class has a range whose ends are not characters")
      }
      guard low <= high else { throw SchemaPatternError("a range of a class is out of order") }
      ranges.append(low...high)
    }
    let set = ScalarSet(ranges)
    return isNegated ? set.complement : set
  }

  private mutating func classMember() throws(SchemaPatternError) -> ScalarSet {
    guard let scalar = next else { throw SchemaPatternError("a class has no end") }
    index += 1
    switch scalar {
    case "\\": return accept("b") ? ScalarSet("\u{8}") : try escapedSet(inClass: true)
    // Some engines start a nested class here, others take it literally.
    case "[": throw SchemaPatternError("a class contains “[”; write “\\[”")
    default: return ScalarSet(scalar)
    }
  }

  // MARK: Escapes

  private mutating func escapedSet(inClass: Bool) throws(SchemaPatternError) -> ScalarSet {
    guard let scalar = next else { throw SchemaPatternError("it ends with “\\”") }
    index += 1
    switch scalar {
    case "d": return .digits
    case "D": return ScalarSet.digits.complement
    case "w": return .words
    case "W": return ScalarSet.words.complement
    case "s": return .spaces
    case "S": return ScalarSet.spaces.complement
    case "t": return ScalarSet("\t")
    case "n": return ScalarSet("\n")
    case "v": return ScalarSet("\u{B}")
    case "f": return ScalarSet("\u{C}")
    case "r": return ScalarSet("\r")
    case "0" where next.map { ("0"..."9").contains($0) } != true: return ScalarSet("\0")
    case "x": return ScalarSet(try makeScalar(try hexadecimal(2)))
    case "u": return ScalarSet(try unicodeEscape())
    case "-" where inClass: return ScalarSet("-")
    default:
      guard "^$\\.*+?()[]{}|/".unicodeScalars.contains(scalar) else {
        throw SchemaPatternError("“\\\(scalar)” is not supported")
      }
      return ScalarSet(scalar)
    }
  }

  private mutating func unicodeEscape() throws(SchemaPatternError) -> Unicode.Scalar {
    if accept("{") {
      var value: UInt32 = 0
      while !accept("}") { value = min(value << 4 | (try digit()), 0x1FFFFF) }
      return try makeScalar(value)
    }
    let lead = try hexadecimal(4)
    guard (0xD800...0xDBFF).contains(lead), accept("\\u") else { return try makeScalar(lead) }
    let trail = try hexadecimal(4)
    guard (0xDC00...0xDFFF).contains(trail) else { return try makeScalar(lead) }
    return try makeScalar(0x10000 + (lead - 0xD800) << 10 + (trail - 0xDC00))
  }

  private func makeScalar(_ value: UInt32) throws(SchemaPatternError) -> Unicode.Scalar {
    guard let scalar = Unicode.Scalar(value) else {
      throw SchemaPatternError("an escape stands for no character")
    }
    return scalar
  }

  private mutating func hexadecimal(_ count: Int) throws(SchemaPatternError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<count { value = value << 4 | (try digit()) }
    return value
  }

  private mutating func digit() throws(SchemaPatternError) -> UInt32 {
    guard let scalar = next, scalar.isASCII, let value = Character(scalar).hexDigitValue else {
      throw SchemaPatternError("an escape has too few hexadecimal digits")
    }
    index += 1
    return UInt32(value)
  }
}

extension ScalarSet {
  /// Its only scalar, or `nil`.
  fileprivate var single: UInt32? {
    guard ranges.count == 1, ranges[0].count == 1 else { return nil }
    return ranges[0].lowerBound
  }
}
