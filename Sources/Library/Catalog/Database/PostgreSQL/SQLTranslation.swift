import Records

/// Translates statements written for SQLite to PostgreSQL.
///
/// The catalog's statements are written once, in what the two have in common and in what is listed here.
/// Anything else is not translated, and PostgreSQL refuses it; what differs more has two texts
/// (`Connection.text`). Functions that PostgreSQL lacks are in the schema, see `PostgreSQLSchema.functions`.
///
/// - `?` and `?1` become `$1`, and `x'00'` a `bytea`.
/// - `INDEXED BY` goes, and `CROSS JOIN … ON` becomes `JOIN … ON`: connections keep the order of joins.
/// - `a IS b` becomes `a IS NOT DISTINCT FROM b`, unless `b` is a keyword.
/// - `iif`, `ifnull`, `instr`, `max` and `min` of several values, `group_concat`, `json_array`,
///   `json_group_array`, and `GLOB` have other names.
/// - The columns that hold 0 or 1 are Booleans.
/// - A selection to select from needs a name.
/// - `temp.` is `pg_temp.`, `CAST(… AS INTEGER)` gives a `bigint`, and one of a blob to `TEXT` reads UTF-8.
struct SQLTranslation {
  private var tokens: ArraySlice<SQLToken>
  private var output: [String] = []
  private var parameters = 0
  private var selections = 0

  /// Returns the statement for PostgreSQL.
  ///
  /// - Throws: `.database` if it has characters that are unknown here.
  static func postgreSQL(_ sql: String) throws(CatalogError) -> String {
    guard let tokens = SQLToken.all(of: sql) else {
      throw CatalogError(.database, "The statement “\(sql)” can't be translated for PostgreSQL.")
    }
    var translation = SQLTranslation(tokens: tokens[...])
    translation.translateAll()
    return translation.output.joined(separator: " ")
  }

  private init(tokens: ArraySlice<SQLToken>) { self.tokens = tokens }

  /// The columns that are Booleans in PostgreSQL.
  static let booleans: Set<String> = [
    "active", "applies", "asset_scoped", "awaits_removal", "blocked", "movie", "removed", "suspect",
  ]

  private static let renamed = [
    "ifnull": "coalesce", "instr": "strpos", "json_array": "json_build_array",
    "json_group_array": "json_agg",
  ]

  private static let ofSeveral = ["max": "greatest", "min": "least"]

  // MARK: Tokens

  private mutating func translateAll() { while !tokens.isEmpty { translateNext() } }

  private mutating func translateNext() {
    switch tokens.removeFirst() {
    case .word(let word): translate(word)
    case .text(let text): output.append(text)
    case .blob(let digits): output.append("'\\x\(digits)'::bytea")
    case .number(let number): output.append(number)
    case .parameter(let number):
      // One without a number follows the greatest before it. Source: sqlite.org/lang_expr.html#varparam.
      let place = number ?? parameters + 1
      parameters = max(parameters, place)
      output.append("$\(place)")
    case .sign("("):
      let isSource = ["FROM", "JOIN"].contains(output.last)
      let selects = tokens.first == .word("SELECT")
      output.append("(")
      translateGroup()
      output.append(")")
      if isSource, selects, !hasName {
        selections += 1
        output.append("AS selection_\(selections)")
      }
    case .sign(let sign): output.append(sign)
    }
  }

  private mutating func translate(_ word: String) {
    switch word {
    case "INDEXED":
      // INDEXED BY name.
      tokens = tokens.dropFirst(2)
    case "CROSS":
      if joinHasCondition { break }
      output.append(word)
    case "IS": translateIs()
    case "GLOB":
      output.append("LIKE pipeline_like(")
      translateNext()
      output.append(")")
    case "temp" where tokens.first == .sign("."): output.append("pg_temp")
    case "user" where tokens.first != .sign("("): output.append("\"user\"")
    case _ where tokens.first == .sign("("): translate(function: word)
    default:
      output.append(word)
      if Self.booleans.contains(word) { translateBoolean() }
    }
  }

  /// Translates what is left of a pair of brackets, and drops the closing one.
  private mutating func translateGroup() {
    while let next = tokens.first, next != .sign(")") { translateNext() }
    tokens = tokens.dropFirst()
  }

  /// Whether an alias follows.
  private var hasName: Bool {
    guard case .word(let word) = tokens.first else { return false }
    return word == "AS" || word.first?.isLowercase == true
  }

  /// Whether `ON` follows after `JOIN`, a table or a selection, and its alias.
  private var joinHasCondition: Bool {
    var rest = tokens.dropFirst()
    if rest.first == .sign("(") {
      var depth = 0
      repeat {
        if rest.first == .sign("(") { depth += 1 }
        if rest.first == .sign(")") { depth -= 1 }
        rest = rest.dropFirst()
      } while depth > 0 && !rest.isEmpty
    } else {
      rest = rest.dropFirst()
      if rest.first == .sign(".") { rest = rest.dropFirst(2) }
    }
    if rest.first == .word("AS") { rest = rest.dropFirst(2) }
    if rest.first == .word("INDEXED") { rest = rest.dropFirst(3) }
    return rest.first == .word("ON")
  }

  private mutating func translateIs() {
    var rest = tokens
    let isNegated = rest.first == .word("NOT")
    if isNegated { rest = rest.dropFirst() }
    if case .word(let word) = rest.first, ["NULL", "TRUE", "FALSE", "DISTINCT"].contains(word) {
      output.append("IS")
      return
    }
    tokens = rest
    output.append(isNegated ? "IS DISTINCT FROM" : "IS NOT DISTINCT FROM")
  }

  /// A Boolean that is compared with, or set to, 0 or 1.
  private mutating func translateBoolean() {
    guard tokens.first == .sign("="), case .number(let number) = tokens.dropFirst().first,
      ["0", "1"].contains(number)
    else { return }
    tokens = tokens.dropFirst(2)
    output.append(number == "1" ? "= TRUE" : "= FALSE")
  }

  // MARK: Functions

  private mutating func translate(function name: String) {
    let bracket = tokens
    tokens = tokens.dropFirst()
    switch name {
    case "iif":
      let parts = arguments()
      guard parts.count == 3 else { return output.append("iif(\(parts.joined(separator: ", ")))") }
      output.append("CASE WHEN \(parts[0]) THEN \(parts[1]) ELSE \(parts[2]) END")
    case "max", "min":
      let parts = arguments()
      let function = parts.count > 1 ? Self.ofSeveral[name] ?? name : name
      output.append("\(function)(\(parts.joined(separator: ", ")))")
    case "group_concat" where tokens.first != .sign(")"):
      let parts = arguments()
      output.append("string_agg(\(parts[0]), \(parts.count > 1 ? parts[1] : "','"))")
    case "CAST":
      let part = arguments().joined(separator: ", ")
      if part.hasSuffix(" AS TEXT") {
        output.append("pipeline_text(\(part.dropLast(" AS TEXT".count)))")
      } else if part.hasSuffix(" AS INTEGER") {
        output.append("CAST(\(part.dropLast(" AS INTEGER".count)) AS bigint)")
      } else {
        output.append("CAST(\(part))")
      }
    default:
      // A keyword before a bracket is followed by it, too.
      output.append(Self.renamed[name] ?? name)
      tokens = bracket
    }
  }

  /// The arguments of a function behind its bracket, translated; drops the closing bracket.
  private mutating func arguments() -> [String] {
    let before = output
    output = []
    var parts: [String] = []
    while let next = tokens.first, next != .sign(")") {
      if next == .sign(",") {
        tokens = tokens.dropFirst()
        parts.append(output.joined(separator: " "))
        output = []
      } else {
        translateNext()
      }
    }
    tokens = tokens.dropFirst()
    if !output.isEmpty { parts.append(output.joined(separator: " ")) }
    output = before
    return parts
  }
}
