import PipelineModel

/// One word of a query: a condition on a field, or a word to look for.
struct QueryTerm {
  enum Operator: String {
    case has = ":"
    case equals = "="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  /// The whole word.
  private let word: [QueryCharacter]
  /// The field's name in lower case; `nil` for a word to look for.
  private let name: String?
  private let operation: Operator
  /// What follows the operator, split at commas outside quotes.
  private let values: [[QueryCharacter]]
  private let now: Timestamp

  init(_ word: [QueryCharacter], now: Timestamp) throws(QueryError) {
    self.word = word
    self.now = now
    let end = word.firstIndex { $0.isQuoted || !Self.isPartOfName($0.value) } ?? word.count
    let (name, rest) = (word[..<end].text, word[end...])
    // A name begins with a letter: `12:30` is no condition.
    guard name.first?.isLetter == true, let first = rest.first, !first.isQuoted,
      ":=<>!".contains(first.value)
    else {
      (self.name, operation, values) = (nil, .has, [])
      return
    }
    let signs = rest.prefix(2).prefix { !$0.isQuoted && "=<>!".contains($0.value) }.text
    let sign = first.value == ":" ? ":" : signs
    guard let operation = Operator(rawValue: sign) else {
      let advice = sign == "!=" ? "; put “-” before the word instead" : ""
      throw QueryError(
        message: "\(quoted(word.text)): there is no comparison “\(sign)”\(advice).")
    }
    self.name = name.lowercased()
    self.operation = operation
    values = rest.dropFirst(sign.count)
      .split(omittingEmptySubsequences: false) { $0.isPlain(",") }.map { Array($0) }
  }

  private static func isPartOfName(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "-"
  }

  func filter() throws(QueryError) -> Filter {
    guard let name else { return try search() }
    switch name {
    case "is": return try each { value throws(QueryError) in .flag(try flag(value.text)) }
    case "has": return try each { value throws(QueryError) in try known(value.text) }
    case "near": return .near(try area())
    default: break
    }
    guard let field = Field.named(name) else { throw unknownField(name) }
    if values == [[]], word.last?.isQuoted == false {
      // `field=` asks for what has no value.
      if operation == .equals { return .not(.known(field)) }
      throw problem("says nothing after “\(operation.rawValue)”; “\(name)=” finds what has none")
    }
    if operation == .has, values.count == 1, values[0].count == 1, values[0][0].isPlain("*") {
      return .known(field)
    }
    return try each { value throws(QueryError) in
      switch field {
      case .text(let field): try text(field, value)
      case .number(let field): .number(field, try numbers(field, value.text))
      case .time(let field): .time(field, try times(field, value.text))
      }
    }
  }

  /// One condition for each value, one of which must hold.
  private func each(
    _ condition: ([QueryCharacter]) throws(QueryError) -> Filter
  ) throws(QueryError) -> Filter {
    var filters: [Filter] = []
    for value in values { filters.append(try condition(value)) }
    return filters.count == 1 ? filters[0] : .any(filters)
  }

  // MARK: Words

  private func search() throws(QueryError) -> Filter {
    if word.contains(where: \.isQuoted), !word.contains(where: { $0.isPlain("*") }) {
      let folded = try folded(word)
      return .any(AssetValues.searched.map { .text($0, .contains(folded)) })
    }
    let isPrefix = word.last?.isPlain("*") == true
    let stem = isPrefix ? word.dropLast() : word[...]
    guard !stem.contains(where: { $0.isPlain("*") || $0.isPlain("?") }) else {
      throw problem("may have a “*” at its end only; a pattern needs a field, as in name:*.jpg")
    }
    var words = TextFolding.words(TextFolding.fold(stem.text)).map {
      SearchWord(text: String($0), isPrefix: false)
    }
    guard !words.isEmpty else { throw problem("has no letter or digit to look for") }
    words[words.count - 1].isPrefix = isPrefix
    return .words(words)
  }

  private func text(_ field: TextField, _ value: [QueryCharacter]) throws(QueryError) -> Filter {
    guard operation == .has || operation == .equals else {
      throw problem("compares a text; write “\(field.rawValue):…” or “\(field.rawValue)=…”")
    }
    if field == .kind { return .text(.kind, .equals(try kind(value.text).rawValue)) }
    if field == .type, let kind = AssetKind(rawValue: value.text.lowercased()) {
      return .text(.kind, .equals(kind.rawValue))
    }
    if operation == .equals { return .text(field, .equals(TextFolding.compose(value.text))) }
    guard value.contains(where: { $0.isPlain("*") || $0.isPlain("?") }) else {
      return .text(field, .contains(try folded(value)))
    }
    return .text(field, .pattern(pattern(value)))
  }

  private func folded(_ characters: [QueryCharacter]) throws(QueryError) -> String {
    let folded = TextFolding.fold(characters.text)
    guard !folded.isEmpty else { throw problem("has nothing to look for") }
    return folded
  }

  private func pattern(_ value: [QueryCharacter]) -> [PatternPart] {
    var parts: [PatternPart] = []
    var literal = ""
    func end() {
      parts += TextFolding.fold(literal).unicodeScalars.map { .character($0) }
      literal = ""
    }
    for character in value {
      if character.isPlain("*") || character.isPlain("?") {
        end()
        parts.append(character.value == "*" ? .any : .one)
      } else {
        literal.append(character.value)
      }
    }
    end()
    return parts
  }

  private func kind(_ value: String) throws(QueryError) -> AssetKind {
    guard let kind = AssetKind(rawValue: value.lowercased()) else {
      throw unknown(value, "kind", among: AssetKind.allCases.map(\.rawValue))
    }
    return kind
  }

  private func flag(_ value: String) throws(QueryError) -> Flag {
    try expectColon()
    guard let flag = Flag(rawValue: value.lowercased()) else {
      throw unknown(value, "state", among: Flag.allCases.map(\.rawValue))
    }
    return flag
  }

  private func known(_ value: String) throws(QueryError) -> Filter {
    try expectColon()
    if value.lowercased() == "gps" { return .known(.number(.latitude)) }
    guard let field = Field.named(value.lowercased()) else {
      throw unknown(value, "field", among: Field.all.map(\.name) + ["gps"])
    }
    return .known(field)
  }

  private func expectColon() throws(QueryError) {
    guard operation == .has || operation == .equals else {
      throw problem("compares what has no order; write “:”")
    }
  }

  // MARK: Numbers

  private func numbers(_ field: NumberField, _ value: String) throws(QueryError) -> NumberRange {
    func number(_ text: some StringProtocol) throws(QueryError) -> Double {
      guard let number = QueryNumber.read(String(text), for: field) else {
        throw problem("needs a number: \(field.summary)")
      }
      return number
    }
    func bound(_ value: Double, _ isIncluded: Bool) -> NumberRange.Bound {
      NumberRange.Bound(value: value, isIncluded: isIncluded)
    }
    if let ends = Self.ends(of: value) {
      guard operation == .has || operation == .equals else { throw mixed }
      guard !ends.lower.isEmpty || !ends.upper.isEmpty else {
        throw problem("says neither where the range begins nor where it ends")
      }
      var range = NumberRange()
      if !ends.lower.isEmpty { range.lower = bound(try number(ends.lower), true) }
      if !ends.upper.isEmpty { range.upper = bound(try number(ends.upper), true) }
      if let lower = range.lower, let upper = range.upper, upper.value < lower.value {
        throw reversed
      }
      return range
    }
    let number = try number(value)
    return switch operation {
    case .has, .equals: NumberRange(lower: bound(number, true), upper: bound(number, true))
    case .less: NumberRange(upper: bound(number, false))
    case .lessOrEqual: NumberRange(upper: bound(number, true))
    case .greater: NumberRange(lower: bound(number, false))
    case .greaterOrEqual: NumberRange(lower: bound(number, true))
    }
  }

  /// The ends of `a..b`; `nil` if it is no range.
  private static func ends(of value: String) -> (lower: Substring, upper: Substring)? {
    guard let dots = value.firstRange(of: "..") else { return nil }
    return (value[..<dots.lowerBound], value[dots.upperBound...])
  }

  private var mixed: QueryError { problem("mixes a range with “\(operation.rawValue)”") }

  private var reversed: QueryError { problem("ends before it begins") }

  private func area() throws(QueryError) -> Area {
    guard operation == .has, values.count == 3,
      let latitude = QueryNumber.read(values[0].text, for: .latitude), abs(latitude) <= 90,
      let longitude = QueryNumber.read(values[1].text, for: .longitude), abs(longitude) <= 180,
      let radius = QueryNumber.metres(values[2].text), radius >= 0
    else { throw problem("needs latitude, longitude and radius, as in near:48.14,11.58,10km") }
    return Area(latitude: latitude, longitude: longitude, radius: radius)
  }

  // MARK: Times

  private func times(_ field: TimeField, _ value: String) throws(QueryError) -> TimeRange {
    let clock: CalendarTime.Clock = field.isWallClock ? .wall : .local
    func span(_ text: some StringProtocol) throws(QueryError) -> (start: Int64, end: Int64) {
      let text = String(text)
      if let moment = CalendarTime.ago(text, on: clock, now: now) { return (moment, moment) }
      guard let span = CalendarTime.span(text, on: clock, now: now) else {
        throw problem("needs a date, such as 2024, 2024-05, 2024-05-17, today or 7d")
      }
      return (span.lowerBound, span.upperBound)
    }
    if let ends = Self.ends(of: value) {
      guard operation == .has || operation == .equals else { throw mixed }
      guard !ends.lower.isEmpty || !ends.upper.isEmpty else {
        throw problem("says neither where the range begins nor where it ends")
      }
      var range = TimeRange()
      if !ends.lower.isEmpty { range.lower = try span(ends.lower).start }
      if !ends.upper.isEmpty { range.upper = try span(ends.upper).end }
      // The end of 2024 is where 2025 begins.
      if let lower = range.lower, let upper = range.upper, upper <= lower, ends.lower != ends.upper
      {
        throw reversed
      }
      return range
    }
    let (start, end) = try span(value)
    return switch operation {
    case .has, .equals: TimeRange(lower: start, upper: start == end ? nil : end)
    case .less: TimeRange(upper: start)
    case .lessOrEqual: TimeRange(upper: end)
    case .greater: TimeRange(lower: end)
    case .greaterOrEqual: TimeRange(lower: start)
    }
  }

  // MARK: Errors

  private func problem(_ what: String) -> QueryError {
    QueryError(message: "\(quoted(word.text)) \(what).")
  }

  private func unknown(_ value: String, _ kind: String, among known: [String]) -> QueryError {
    let hint = NearestName.hint(value, among: known, kind: kind + "s")
    return QueryError(
      message: "\(quoted(word.text)): there is no \(kind) \(quoted(value))\(hint)")
  }

  private func unknownField(_ name: String) -> QueryError {
    unknown(name, "field", among: Field.all.map(\.name) + ["is", "has", "near"])
  }
}

/// Numbers as people write them.
enum QueryNumber {
  /// - Returns: `nil` if the text is not a finite number in the field's units.
  static func read(_ text: String, for field: NumberField) -> Double? {
    let number =
      switch field {
      case .size: bytes(text)
      case .exposure: fraction(text.hasSuffix("s") ? String(text.dropLast()) : text)
      case .focal: plain(text.hasSuffix("mm") ? String(text.dropLast(2)) : text)
      case .aperture: plain(text.hasPrefix("f/") ? String(text.dropFirst(2)) : text)
      default: plain(text)
      }
    return number.flatMap { $0.isFinite ? $0 : nil }
  }

  /// - Returns: `nil` if the text is not a finite number of metres, kilometres or, without a unit,
  ///   kilometres.
  static func metres(_ text: String) -> Double? {
    let number =
      if text.hasSuffix("km") {
        plain(String(text.dropLast(2))).map { $0 * 1000 }
      } else if text.hasSuffix("m") {
        plain(String(text.dropLast()))
      } else {
        plain(text).map { $0 * 1000 }
      }
    return number.flatMap { $0.isFinite ? $0 : nil }
  }

  private static func plain(_ text: String) -> Double? {
    // `Double` would also accept `nan`, `inf` and hexadecimal.
    guard text.utf8.allSatisfy({ "0123456789.-+eE".utf8.contains($0) }) else { return nil }
    return Double(text)
  }

  private static func fraction(_ text: String) -> Double? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let top = plain(String(parts[0])), let bottom = plain(String(parts[1])),
      bottom != 0
    else { return plain(text) }
    return top / bottom
  }

  private static let units: [(name: String, factor: Double)] = [
    ("kib", 0x1p10), ("mib", 0x1p20), ("gib", 0x1p30), ("tib", 0x1p40), ("kb", 1e3), ("mb", 1e6),
    ("gb", 1e9), ("tb", 1e12), ("b", 1),
  ]

  private static func bytes(_ text: String) -> Double? {
    let lower = text.lowercased()
    guard let unit = units.first(where: { lower.hasSuffix($0.name) }) else { return plain(text) }
    return plain(String(lower.dropLast(unit.name.count))).map { $0 * unit.factor }
  }
}
