/// Scripts and styles without what only people need: comments, indentation, and spaces beside
/// punctuation.
///
/// Names stay, and so do the line breaks that end statements. It knows as much of the languages as the
/// program's own files use; the tests of the pages run what it makes.
enum CompactSource {
  private static let space = UInt8(ascii: " ")
  private static let newline = UInt8(ascii: "\n")
  private static let slash = UInt8(ascii: "/")
  private static let star = UInt8(ascii: "*")
  private static let backslash = UInt8(ascii: "\\")
  private static let backtick = UInt8(ascii: "`")
  private static let quotes = Set("\"'".utf8)

  // MARK: Scripts

  /// Returns a script, which has no regular expression right after a word such as `return`.
  static func script(_ source: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    // What is between the last token and the next one.
    var (hasSpace, hasNewline) = (false, false)
    var index = 0
    while index < source.count {
      let byte = source[index]
      if byte == space || byte == newline {
        if byte == newline { hasNewline = true } else { hasSpace = true }
        index += 1
        continue
      }
      if let end = commentEnd(source, index) {
        index = end
        continue
      }
      let end = tokenEnd(source, index, after: result.last)
      if let last = result.last {
        if hasNewline, !opening.contains(last), !closing.contains(byte) {
          result.append(newline)
        } else if hasSpace || hasNewline, mustStayApart(last, byte) {
          result.append(space)
        }
      }
      result += source[index..<end]
      (hasSpace, hasNewline) = (false, false)
      index = end
    }
    return result + [newline]
  }

  /// Behind and before these, a line break means nothing.
  private static let opening = Set("{([,;".utf8)
  private static let closing = Set("})]".utf8)
  /// Behind these, a slash begins a regular expression.
  private static let beforePattern = Set("(,=>:[!&|?{};".utf8)

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"),
      UInt8(ascii: "#"), 0x80...:
      true
    default: false
    }
  }

  private static func mustStayApart(_ last: UInt8, _ next: UInt8) -> Bool {
    isWord(last) && isWord(next) || last == next && "+-".utf8.contains(last)
  }

  private static func commentEnd(_ source: [UInt8], _ start: Int) -> Int? {
    guard start + 1 < source.count, source[start] == slash else { return nil }
    if source[start + 1] == slash {
      return source[start...].firstIndex(of: newline) ?? source.count
    }
    guard source[start + 1] == star else { return nil }
    return source[(start + 2)...].firstRange(of: [star, slash])?.upperBound ?? source.count
  }

  private static func tokenEnd(_ source: [UInt8], _ start: Int, after last: UInt8?) -> Int {
    let byte = source[start]
    if quotes.contains(byte) { return textEnd(source, start) }
    if byte == backtick { return templateEnd(source, start) }
    if byte == slash, beforePattern.contains(last ?? UInt8(ascii: ";")) {
      return patternEnd(source, start)
    }
    if isWord(byte) { return source[start...].firstIndex { !isWord($0) } ?? source.count }
    return start + 1
  }

  private static func textEnd(_ source: [UInt8], _ start: Int) -> Int {
    var index = start + 1
    while index < source.count, source[index] != source[start] {
      index += source[index] == backslash ? 2 : 1
    }
    return min(source.count, index + 1)
  }

  private static func patternEnd(_ source: [UInt8], _ start: Int) -> Int {
    var index = start + 1
    var isInClass = false
    while index < source.count, isInClass || source[index] != slash {
      switch source[index] {
      case backslash: index += 1
      case UInt8(ascii: "["): isInClass = true
      case UInt8(ascii: "]"): isInClass = false
      default: break
      }
      index += 1
    }
    return min(source.count, index + 1)
  }

  /// The end of a template, which stays as it is, with the expressions in it.
  private static func templateEnd(_ source: [UInt8], _ start: Int) -> Int {
    var index = start + 1
    // How many braces of expressions are open.
    var depth = 0
    while index < source.count, depth > 0 || source[index] != backtick {
      switch source[index] {
      case backslash: index += 2
      case backtick: index = templateEnd(source, index)
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        index = depth > 0 ? textEnd(source, index) : index + 1
      case UInt8(ascii: "{"):
        if depth > 0 || source[index - 1] == UInt8(ascii: "$") { depth += 1 }
        index += 1
      case UInt8(ascii: "}"):
        depth = max(0, depth - 1)
        index += 1
      default: index += 1
      }
    }
    return min(source.count, index + 1)
  }

  // MARK: Styles

  /// Beside these, spaces mean nothing in a style sheet; behind a colon, neither.
  private static let stylePunctuation = Set("{};,>".utf8)

  /// Returns a style sheet, whose texts have double quotation marks.
  static func style(_ source: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var hasSpace = false
    var index = 0
    while index < source.count {
      let byte = source[index]
      if byte == space || byte == newline {
        hasSpace = true
        index += 1
        continue
      }
      if source[index...].starts(with: [slash, star]), let end = commentEnd(source, index) {
        index = end
        continue
      }
      let isText = byte == UInt8(ascii: "\"")
      let end = isText ? textEnd(source, index) : index + 1
      if byte == UInt8(ascii: "}"), result.last == UInt8(ascii: ";") { result.removeLast() }
      if hasSpace, let last = result.last, !stylePunctuation.contains(last),
        last != UInt8(ascii: ":"), !stylePunctuation.contains(byte)
      {
        result.append(space)
      }
      result += source[index..<end]
      hasSpace = false
      index = end
    }
    return result + [newline]
  }
}
