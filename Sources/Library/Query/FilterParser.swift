package import PipelineModel

/// A query, or what is said about an asset, that can't be understood.
package struct QueryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A sentence that quotes the part.
  package let message: String

  package init(message: String) { self.message = message }

  package var description: String { message }
}

extension Filter {
  /// Reads the words of a query, such as `camera:fuji taken:2024-05.. -tag:private`.
  ///
  /// `docs/queries.md` describes them.
  ///
  /// - Parameters:
  ///   - words: parts of the query, as a shell passes them.
  ///   - now: the time that `7d` and `today` go by.
  ///   - saved: queries by name, for words such as `@keepers`.
  package init(
    words: [String], now: Timestamp = .now, saved: [String: String] = [:]
  ) throws(QueryError) {
    self = try Filter(query: words.joined(separator: " "), now: now, saved: saved)
  }

  /// Reads a query.
  package init(
    query: String, now: Timestamp = .now, saved: [String: String] = [:]
  ) throws(QueryError) {
    self = try FilterParser.read(query, FilterParser.Surroundings(now: now, saved: saved))
  }
}

/// A part of a query.
enum QueryToken: Equatable, Sendable {
  case open, close, minus, or
  case word([QueryCharacter])

  /// Splits a query. Quotes keep spaces and brackets together; within them, `\` keeps a quote.
  static func all(in query: String) throws(QueryError) -> [QueryToken] {
    var tokens: [QueryToken] = []
    var word: [QueryCharacter]?
    var isQuoting = false
    /// How many brackets of the current word are open, as in `IMG(1).jpg`.
    var brackets = 0
    func end() {
      if let word { tokens.append(token(word)) }
      (word, brackets) = (nil, 0)
    }
    var rest = characters(of: query)[...]
    while let character = rest.popFirst() {
      switch character {
      case "\\" where isQuoting && (rest.first == "\"" || rest.first == "\\"):
        word?.append(QueryCharacter(rest.removeFirst(), isQuoted: true))
      case "\"":
        isQuoting.toggle()
        word = word ?? []
      case _ where isQuoting:
        word?.append(QueryCharacter(character, isQuoted: true))
      case "(":
        if let started = word, case .word = token(started) {
          word?.append(QueryCharacter(character))
          brackets += 1
        } else {
          end()
          tokens.append(.open)
        }
      case ")" where brackets > 0:
        word?.append(QueryCharacter(character))
        brackets -= 1
      case ")":
        end()
        tokens.append(.close)
      case "-" where word == nil:
        tokens.append(.minus)
      case _ where character.isWhitespace:
        end()
      default:
        if word == nil { word = [] }
        word?.append(QueryCharacter(character))
      }
    }
    if isQuoting {
      throw QueryError(message: "A quote in the query is not closed; add a “\"” at its end.")
    }
    end()
    return tokens
  }

  /// The characters of a query, those of the syntax by themselves: Swift takes a quote and a combining
  /// mark behind it for one character.
  private static func characters(of query: String) -> [Character] {
    query.flatMap { character -> [Character] in
      guard character.unicodeScalars.count > 1, let first = character.unicodeScalars.first,
        first.isASCII, first != "\r"
      else { return [character] }
      let rest = String(String.UnicodeScalarView(character.unicodeScalars.dropFirst()))
      return [Character(first)] + rest.map { $0 }
    }
  }

  private static func token(_ word: [QueryCharacter]) -> QueryToken {
    // The longest of the words below.
    guard word.count <= 3, word.allSatisfy({ !$0.isQuoted }) else { return .word(word) }
    return switch word.text {
    case "or", "OR": .or
    case "not", "NOT": .minus
    default: .word(word)
    }
  }
}

/// A character of a word.
struct QueryCharacter: Equatable, Sendable {
  let value: Character
  /// Whether it stood in quotes, so that it means only itself.
  let isQuoted: Bool

  init(_ value: Character, isQuoted: Bool = false) {
    self.value = value
    self.isQuoted = isQuoted
  }

  /// Whether it is a character with a meaning of its own, and not quoted.
  func isPlain(_ other: Character) -> Bool { value == other && !isQuoted }
}

extension Sequence<QueryCharacter> {
  var text: String { String(map(\.value)) }
}

/// Reads a filter from words: a recursive descent over a dozen rules.
///
///     query  = [ any ]
///     any    = all { "or" all }
///     all    = factor { factor }
///     factor = ( "-" | "not" ) factor | "(" any ")" | term
///     term   = field operator values | word
struct FilterParser {
  /// The longest query.
  static let mostBytes = 64 << 10
  /// The deepest nesting.
  private static let mostDepth = 64
  /// The most saved searches within each other.
  private static let mostNested = 16

  /// What the words of a query refer to.
  struct Surroundings {
    let now: Timestamp
    let saved: [String: String]
    /// The saved searches whose queries are being read.
    var names: [String] = []
    let budget = Budget()
  }

  /// How much may still be read: saved searches that use each other twice would never end.
  final class Budget {
    var bytes = mostBytes
  }

  private var tokens: ArraySlice<QueryToken>
  private var depth = 0
  private let surroundings: Surroundings

  static func read(_ query: String, _ surroundings: Surroundings) throws(QueryError) -> Filter {
    surroundings.budget.bytes -= query.utf8.count
    guard surroundings.budget.bytes >= 0 else {
      let added = surroundings.names.isEmpty ? "" : ", with the saved searches that it uses,"
      throw QueryError(message: "The query\(added) has more than \(mostBytes) bytes.")
    }
    var parser = FilterParser(
      tokens: try QueryToken.all(in: query)[...], surroundings: surroundings)
    return try parser.query()
  }

  private init(tokens: ArraySlice<QueryToken>, surroundings: Surroundings) {
    self.tokens = tokens
    self.surroundings = surroundings
  }

  private mutating func query() throws(QueryError) -> Filter {
    if tokens.isEmpty { return .everything }
    let filter = try any()
    guard tokens.isEmpty else {
      throw QueryError(
        message: "The query has a “)” without a “(”; put quotes around one that belongs to a word.")
    }
    return filter
  }

  private mutating func any() throws(QueryError) -> Filter {
    var filters = [try all()]
    while tokens.first == .or {
      tokens.removeFirst()
      filters.append(try all())
    }
    return filters.count == 1 ? filters[0] : .any(filters)
  }

  private mutating func all() throws(QueryError) -> Filter {
    var filters = [try factor()]
    while let token = tokens.first, token != .or, token != .close { filters.append(try factor()) }
    return filters.count == 1 ? filters[0] : .all(filters)
  }

  private mutating func factor() throws(QueryError) -> Filter {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.mostDepth else {
      throw QueryError(message: "The query is nested more than \(Self.mostDepth) deep.")
    }
    switch tokens.popFirst() {
    case .minus: return .not(try factor())
    case .open:
      let filter = try any()
      guard tokens.popFirst() == .close else {
        throw QueryError(
          message:
            "The query has a “(” without a “)”; put quotes around one that belongs to a word.")
      }
      return filter
    case .word(let word) where word.first?.isPlain("@") == true:
      return try savedSearch(word.dropFirst().text)
    case .word(let word): return try QueryTerm(word, now: surroundings.now).filter()
    case .or: throw QueryError(message: "Nothing comes before an “or” in the query.")
    case .close: throw QueryError(message: "There is nothing within brackets in the query.")
    case nil: throw QueryError(message: "The query ends where a word is missing.")
    }
  }

  private func savedSearch(_ name: String) throws(QueryError) -> Filter {
    guard let query = surroundings.saved[name] else {
      throw .unknownSearch(name, among: surroundings.saved)
    }
    var inner = surroundings
    inner.names.append(name)
    guard !surroundings.names.contains(name), inner.names.count <= Self.mostNested else {
      let path = inner.names.map { "@\($0)" }.joined(separator: " uses ")
      throw QueryError(message: "Saved searches are used in a circle, or too deep: \(path).")
    }
    do {
      return try Self.read(query, inner)
    } catch {
      if !surroundings.names.isEmpty { throw error }
      throw QueryError(message: "In the saved search @\(name): \(error.message)")
    }
  }
}

extension QueryError {
  /// The error of a saved search that there is not.
  package static func unknownSearch(_ name: String, among saved: [String: String]) -> QueryError {
    let hint = NearestName.hint(name, among: saved.keys.sorted(), kind: "searches")
    return QueryError(message: "There is no saved search \(quoted(name))\(hint)")
  }
}
