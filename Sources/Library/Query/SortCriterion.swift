import PipelineModel

/// A field to sort by.
package struct SortCriterion: Hashable, Sendable {
  package var field: Field
  package var isDescending: Bool
  /// Whether assets without a value come first; otherwise last, in either direction.
  package var isNilFirst: Bool

  package init(_ field: Field, isDescending: Bool = false, isNilFirst: Bool = false) {
    self.field = field
    self.isDescending = isDescending
    self.isNilFirst = isNilFirst
  }

  /// Reads criteria such as `-taken,name`: a dash means descending.
  package static func all(in text: String) throws(QueryError) -> [SortCriterion] {
    var criteria: [SortCriterion] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let isDescending = part.hasPrefix("-")
      let name = String(isDescending ? part.dropFirst() : part)
      guard let field = Field.named(name) else {
        let hint = NearestName.hint(name, among: Field.all.map(\.name), kind: "fields")
        throw QueryError(message: "Nothing can be sorted by “\(name)”\(hint)")
      }
      // The second one could change nothing.
      guard !criteria.contains(where: { $0.field == field }) else {
        throw QueryError(message: "The order names “\(name)” twice.")
      }
      criteria.append(SortCriterion(field, isDescending: isDescending))
    }
    return criteria
  }

  package func value(of asset: AssetValues) -> SortValue {
    switch field {
    case .text(let field):
      asset.texts[field]?.first.map { .text(TextFolding.fold($0), whole: $0) } ?? .none
    case .number(let field): asset.numbers[field].map { .number($0) } ?? .none
    case .time(let field): asset.times[field].map { .time($0) } ?? .none
    }
  }
}

/// What is compared when sorting.
package enum SortValue: Comparable, Hashable, Sendable {
  /// Texts are compared without case and accents, then as they are.
  case text(String, whole: String)
  case number(Double)
  case time(Int64)
  /// There is no value.
  case none
}
