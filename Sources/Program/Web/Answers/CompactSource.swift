/// Scripts and styles without what only people need: comments, indentation, spaces beside
/// punctuation, and the last semicolon of a block.
///
/// Names stay, and so do the line breaks that may end a statement. It knows no more of the languages than
/// the program's own files use: no template is within another, and no regular expression has spaces, two
/// slashes in a row or an odd number of quotation marks, and no block ends with an empty statement. The
/// tests of the pages run what it makes.
enum CompactSource {
  enum Language { case script, style }

  private static let newline = UInt8(ascii: "\n")
  private static let quotes = Set("\"'`".utf8)

  static func compact(_ source: [UInt8], _ language: Language) -> [UInt8] {
    var result: [UInt8] = []
    // What is between the last byte that stays and the next one.
    var gap: Gap = .none
    var index = 0
    while index < source.count {
      let byte = source[index]
      if byte == newline || byte == UInt8(ascii: " ") {
        gap = max(gap, byte == newline ? .newline : .space)
        index += 1
      } else if let end = commentEnd(source, index, language) {
        index = end
      } else {
        let end = quotes.contains(byte) ? textEnd(source, index) : index + 1
        if let last = result.last, let separator = separator(gap, language, last, byte) {
          result.append(separator)
        } else if byte == UInt8(ascii: "}"), result.last == UInt8(ascii: ";") {
          result.removeLast()
        }
        result += source[index..<end]
        gap = .none
        index = end
      }
    }
    return result + [newline]
  }

  // MARK: Gaps

  private enum Gap: Int, Comparable {
    case none, space, newline
    static func < (left: Gap, right: Gap) -> Bool { left.rawValue < right.rawValue }
  }

  /// Behind and before these, a line break does not end a statement.
  private static let opening = Set("{([,;".utf8)
  private static let closing = Set("})]".utf8)
  /// Beside these, spaces mean nothing in a style sheet; behind a colon, neither.
  private static let stylePunctuation = Set("{};,>".utf8)

  /// What has to stay of a gap.
  private static func separator(
    _ gap: Gap, _ language: Language, _ last: UInt8, _ next: UInt8
  ) -> UInt8? {
    let space = UInt8(ascii: " ")
    switch (language, gap) {
    case (_, .none): return nil
    case (.script, .newline):
      return opening.contains(last) || closing.contains(next) ? nil : newline
    case (.script, .space):
      let isSign = last == next && "+-".utf8.contains(last)
      return isWord(last) && isWord(next) || isSign ? space : nil
    case (.style, _):
      let isFree = last == UInt8(ascii: ":") || !stylePunctuation.isDisjoint(with: [last, next])
      return isFree ? nil : space
    }
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }

  // MARK: Comments and texts

  private static func commentEnd(_ source: [UInt8], _ start: Int, _ language: Language) -> Int? {
    let rest = source[start...]
    if rest.starts(with: "/*".utf8) {
      return rest.dropFirst(2).firstRange(of: Array("*/".utf8))?.upperBound ?? source.count
    }
    guard language == .script, rest.starts(with: "//".utf8) else { return nil }
    return rest.firstIndex(of: newline) ?? source.count
  }

  private static func textEnd(_ source: [UInt8], _ start: Int) -> Int {
    var index = start + 1
    while index < source.count, source[index] != source[start] {
      index += source[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(source.count, index + 1)
  }
}
