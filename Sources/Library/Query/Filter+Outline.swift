import PipelineModel

extension Filter {
  /// What it means, for people: a line for each condition, indented below what joins them.
  package var outline: [String] {
    switch self {
    case .all(let filters):
      filters.isEmpty ? ["everything"] : Self.outline("all of", filters)
    case .any(let filters):
      filters.isEmpty ? ["nothing"] : Self.outline("one of", filters)
    case .not(let filter): Self.outline("not", [filter])
    case .known(let field): ["\(field.name) is known"]
    case .text(let field, let match): ["\(field) \(match.outline)"]
    case .number(let field, let range): ["\(field) \(range.outline)"]
    case .time(let field, let range): [range.outline(field)]
    case .flag(let flag): [flag.summary]
    case .words(let words):
      words.map { "has \($0.isPrefix ? "a word that begins with" : "the word") “\($0.text)”" }
    case .near(let area):
      ["within \(AssetValues.text(area.radius)) m of \(area.latitude), \(area.longitude)"]
    }
  }

  private static func outline(_ title: String, _ filters: [Filter]) -> [String] {
    [title] + filters.flatMap(\.outline).map { "  " + $0 }
  }
}

extension TextMatch {
  fileprivate var outline: String {
    switch self {
    case .contains(let part): "contains “\(part)”, without case and accents"
    case .equals(let whole): "is “\(whole)”"
    case .includes(let part): "contains “\(part)”"
    case .begins(let part): "begins with “\(part)”"
    case .pattern(let parts):
      "matches “\(parts.map(\.outline).joined())”, without case and accents"
    }
  }
}

extension PatternPart {
  fileprivate var outline: String {
    switch self {
    case .any: "*"
    case .one: "?"
    case .character(let scalar): "\(scalar)"
    }
  }
}

extension NumberRange {
  fileprivate var outline: String {
    let bounds = [
      lower.map { "\($0.isIncluded ? ">=" : ">") \(AssetValues.text($0.value))" },
      upper.map { "\($0.isIncluded ? "<=" : "<") \(AssetValues.text($0.value))" },
    ].compactMap(\.self)
    return bounds.isEmpty ? "is known" : bounds.joined(separator: " and ")
  }
}

extension TimeRange {
  fileprivate func outline(_ field: TimeField) -> String {
    func text(_ time: Int64) -> String {
      let text = Timestamp(microseconds: time).rfc3339
      return field.isWallClock && text.hasSuffix("Z") ? String(text.dropLast()) : text
    }
    let bounds = [lower.map { ">= \(text($0))" }, upper.map { "< \(text($0))" }]
      .compactMap(\.self)
    return bounds.isEmpty ? "\(field) is known" : "\(field) \(bounds.joined(separator: " and "))"
  }
}
