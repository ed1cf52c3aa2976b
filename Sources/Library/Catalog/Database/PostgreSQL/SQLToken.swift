/// A part of an SQL statement that has no parts itself.
enum SQLToken: Equatable {
  /// A keyword or a name.
  case word(String)
  /// A text with its quotes.
  case text(String)
  /// The hexadecimal digits of a blob.
  case blob(String)
  case number(String)
  /// A parameter; without its own number, it has the one after the last.
  case parameter(Int?)
  /// Operators, brackets, commas, points and semicolons.
  case sign(String)

  /// The characters of operators, the longest first.
  private static let operators = ["->>", "->", "||", "<>", "<=", ">="]
  private static let signs: Set<Character> = [
    "(", ")", ",", ".", ";", "=", "<", ">", "+", "-", "*", "/", "%",
  ]

  /// Splits a statement; `nil` if it has something that no statement of the catalog has.
  static func all(of sql: String) -> [SQLToken]? {
    var tokens: [SQLToken] = []
    var rest = Substring(sql)
    while let first = rest.first {
      if first.isWhitespace {
        rest.removeFirst()
      } else if first == "'" {
        guard let text = quoted(&rest) else { return nil }
        tokens.append(.text(text))
      } else if first == "x", rest.dropFirst().first == "'" {
        rest.removeFirst()
        guard let text = quoted(&rest) else { return nil }
        tokens.append(.blob(String(text.dropFirst().dropLast())))
      } else if first.isLetter || first == "_" {
        tokens.append(.word(taken(&rest) { $0.isLetter || $0.isNumber || $0 == "_" }))
      } else if first.isNumber {
        tokens.append(.number(taken(&rest) { $0.isNumber || $0 == "." }))
      } else if first == "?" {
        rest.removeFirst()
        let number = taken(&rest, while: \.isNumber)
        tokens.append(.parameter(Int(number)))
      } else if let long = operators.first(where: { rest.hasPrefix($0) }) {
        rest.removeFirst(long.count)
        tokens.append(.sign(long))
      } else if signs.contains(first) {
        rest.removeFirst()
        tokens.append(.sign(String(first)))
      } else {
        return nil
      }
    }
    return tokens
  }

  private static func taken(
    _ rest: inout Substring, while isPart: (Character) -> Bool
  ) -> String {
    let part = rest.prefix(while: isPart)
    rest.removeFirst(part.count)
    return String(part)
  }

  /// A text with its quotes; two quotes in it stand for one.
  private static func quoted(_ rest: inout Substring) -> String? {
    var text = String(rest.removeFirst())
    while let next = rest.popFirst() {
      text.append(next)
      guard next == "'" else { continue }
      guard rest.first == "'" else { return text }
      text.append(rest.removeFirst())
    }
    return nil
  }
}
