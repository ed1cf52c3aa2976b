import Foundation
import PipelineModel
import Query

// The parts of a predicate that a filter can express, each as what it stands for.

// MARK: - Values

extension PredicateExpressions.Variable: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard let term = translation.term(of: key) else { throw translation.unsupported(self) }
    return term
  }
}

extension PredicateExpressions.Value: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    // An optional without a value is the same as `nil`.
    guard let optional = value as Any as? any OptionalValue else { return .constant(stored(value)) }
    return optional.wrapped.map { .constant(stored($0)) } ?? .null
  }
}

extension PredicateExpressions.NilLiteral: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .null
  }
}

/// What a constant stands for: what is stored of a program's own type.
private func stored(_ value: Any) -> Any { (value as? any AssetValue)?.anyStored ?? value }

/// An optional of any type.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  var wrapped: Any? { map { $0 } }
}

extension PredicateExpressions.KeyPath: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    switch try translation.term(root) {
    case .asset:
      if let flag = Asset.flag(keyPath) { return .condition(.flag(flag)) }
      switch Asset.field(keyPath) {
      case .text(let field)? where field.isList: return .list(field)
      case let field?: return .field(field)
      case nil: if let field = Asset.fieldOfOwnType(keyPath) { return .ofOwnType(field) }
      }
    case .list(let field) where keyPath == \[String].isEmpty:
      return .condition(.not(.known(.text(field))))
    default: break
    }
    throw LibraryError(
      .notAQuestion, "A search can't express \(Asset.name(of: keyPath)); use those of an asset.")
  }
}

extension PredicateExpressions.NilCoalesce: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    switch (try translation.term(lhs), try translation.term(rhs)) {
    case (.field(let field), .constant(let value)): return .defaulted(field, value)
    case (.conditionIfKnown(let field, let filter), .constant(let value as Bool)):
      return .condition(value ? .any([filter, .not(.known(field))]) : filter)
    default: throw translation.unsupported(self)
    }
  }
}

extension PredicateExpressions.ForcedUnwrap: Translatable {
  /// Where there is no value, no comparison is met, nor its contrary: the program goes on.
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard case .field(let field) = try translation.term(inner) else {
      throw translation.unsupported(self)
    }
    return .unwrapped(field)
  }
}

extension PredicateExpressions.OptionalFlatMap: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard case .field(let field) = try translation.term(wrapped),
      case .condition(let filter) = try translation.with(variable.key, as: .field(field))
        .term(transform)
    else { throw translation.unsupported(self) }
    return .conditionIfKnown(field, .all([.known(field), filter]))
  }
}

// MARK: - Conditions

extension PredicateExpressions.Conjunction: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .condition(.all([try translation.filter(lhs), try translation.filter(rhs)]))
  }
}

extension PredicateExpressions.Disjunction: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .condition(.any([try translation.filter(lhs), try translation.filter(rhs)]))
  }
}

extension PredicateExpressions.Negation: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    switch try translation.term(wrapped) {
    case .conditionIfKnown(let field, let filter):
      return .conditionIfKnown(field, .all([.known(field), .not(filter)]))
    default: return .condition(.not(try translation.filter(wrapped)))
    }
  }
}

extension PredicateExpressions.Equal: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    try translation.equality(try translation.term(lhs), try translation.term(rhs), self)
  }
}

extension PredicateExpressions.NotEqual: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    let (left, right) = (try translation.term(lhs), try translation.term(rhs))
    switch try translation.equality(left, right, self) {
    case .condition(let filter): return .condition(.not(filter))
    case .conditionIfKnown(let field, let filter):
      return .conditionIfKnown(field, .all([.known(field), .not(filter)]))
    default: throw translation.unsupported(self)
    }
  }
}

extension PredicateExpressions.Comparison: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    let (left, right) = (try translation.term(lhs), try translation.term(rhs))
    let comparison: PredicateTranslation.Comparison =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: throw translation.unsupported(self)
      }
    switch (left, right) {
    case (.constant(let value), _):
      return try translation.comparison(right, comparison.reversed, value, self)
    case (_, .constant(let value)):
      return try translation.comparison(left, comparison, value, self)
    default: throw translation.unsupported(self)
    }
  }
}

extension PredicateExpressions.RangeExpressionContains: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    let element = try translation.term(element)
    guard case .constant(let value) = try translation.term(range) else {
      throw translation.unsupported(self)
    }
    guard let bounds = (value as? any Bounded)?.bounds else { throw translation.unsupported(self) }
    var filters: [Filter] = []
    for (comparison, value) in bounds {
      filters.append(
        try translation.filter(try translation.comparison(element, comparison, value, self), self))
    }
    return .condition(.all(filters))
  }
}

extension PredicateExpressions.Range: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard case .constant(let lower) = try translation.term(lower),
      case .constant(let upper) = try translation.term(upper)
    else { throw translation.unsupported(self) }
    return .constant(ConstantBounds(bounds: [(.greaterOrEqual, lower), (.less, upper)]))
  }
}

extension PredicateExpressions.ClosedRange: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard case .constant(let lower) = try translation.term(lower),
      case .constant(let upper) = try translation.term(upper)
    else { throw translation.unsupported(self) }
    return .constant(ConstantBounds(bounds: [(.greaterOrEqual, lower), (.lessOrEqual, upper)]))
  }
}

/// A range of any kind.
private protocol Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] { get }
}

private struct ConstantBounds: Bounded {
  let bounds: [(PredicateTranslation.Comparison, Any)]
}

extension Range: Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] {
    [(.greaterOrEqual, lowerBound), (.less, upperBound)]
  }
}

extension ClosedRange: Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] {
    [(.greaterOrEqual, lowerBound), (.lessOrEqual, upperBound)]
  }
}

extension PartialRangeFrom: Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] { [(.greaterOrEqual, lowerBound)] }
}

extension PartialRangeUpTo: Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] { [(.less, upperBound)] }
}

extension PartialRangeThrough: Bounded {
  var bounds: [(PredicateTranslation.Comparison, Any)] { [(.lessOrEqual, upperBound)] }
}

// MARK: - Texts and keywords

extension PredicateExpressions.CollectionContainsCollection: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .condition(
      try translation.text(try translation.term(base), try translation.term(other), self) {
        .includes(TextFolding.compose($0))
      })
  }
}

extension PredicateExpressions.SequenceStartsWith: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .condition(
      try translation.text(try translation.term(base), try translation.term(prefix), self) {
        .begins(TextFolding.compose($0))
      })
  }
}

extension PredicateExpressions.SequenceContains: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    switch (try translation.term(sequence), try translation.term(element)) {
    case (.list(let field), .constant(let value as String)):
      return .condition(.text(field, .equals(TextFolding.compose(value))))
    case (.constant(let values), let element):
      guard let values = values as? any Sequence else { throw translation.unsupported(self) }
      var filters: [Filter] = []
      for value in values {
        filters.append(
          try translation.filter(
            try translation.equality(element, .constant(stored(value)), self), self))
      }
      return .condition(.any(filters))
    default: throw translation.unsupported(self)
    }
  }
}

extension PredicateExpressions.SequenceContainsWhere: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    guard case .list(let field) = try translation.term(sequence) else {
      throw translation.unsupported(self)
    }
    let test = try translation.with(variable.key, as: .field(.text(field))).filter(test)
    guard test.isOfOneValue(of: field) else { throw translation.unsupported(self) }
    return .condition(test)
  }
}

extension Filter {
  /// Whether it is met as soon as one value of a list meets it: a filter has no other way to speak of
  /// the same value twice.
  fileprivate func isOfOneValue(of list: TextField) -> Bool {
    switch self {
    case .text(list, _): true
    case .any(let filters): filters.allSatisfy { $0.isOfOneValue(of: list) }
    default: false
    }
  }
}
