import Foundation
import PipelineModel
import Query

/// Translates predicates of Swift into filters.
struct PredicateTranslation {
  /// What a part of a predicate stands for.
  indirect enum Term {
    /// The asset itself.
    case asset
    /// A property, or the value that it has if it has one.
    case field(Field)
    /// A property of a program's own type, which may not know each value: so it is only compared for
    /// equality with a value.
    case ofOwnType(Field)
    /// The value of a property that must have one.
    case unwrapped(Field)
    /// A property, or a constant if it has no value.
    case defaulted(Field, Any)
    /// A property with several values.
    case list(TextField)
    case constant(Any)
    case null
    case condition(Filter)
    /// A condition on the value of a property, and `nil` if it has none.
    case conditionIfKnown(Field, Filter)
  }

  private var variables: [PredicateExpressions.VariableID: Term] = [:]

  static func filter(of predicate: Predicate<Asset>) throws(LibraryError) -> Filter {
    var translation = PredicateTranslation()
    translation.variables[predicate.variable.key] = .asset
    return try translation.filter(predicate.expression)
  }

  /// A condition; without a value that it needs, it is not met.
  func filter(_ expression: any PredicateExpression) throws(LibraryError) -> Filter {
    switch try term(expression) {
    case .condition(let filter), .conditionIfKnown(_, let filter): return filter
    case .constant(true as Bool): return .everything
    case .constant(false as Bool): return .any([])
    default: throw unsupported(expression)
    }
  }

  func term(_ expression: any PredicateExpression) throws(LibraryError) -> Term {
    guard let expression = expression as? any Translatable else { throw unsupported(expression) }
    return try expression.term(in: self)
  }

  func term(of variable: PredicateExpressions.VariableID) -> Term? { variables[variable] }

  /// The same with a variable that stands for something else.
  func with(
    _ variable: PredicateExpressions.VariableID, as term: Term
  ) -> PredicateTranslation {
    var translation = self
    translation.variables[variable] = term
    return translation
  }

  func unsupported(_ part: Any) -> LibraryError {
    // The type names the parts, without the module that all of them are from.
    let name = String(reflecting: type(of: part))
      .replacing("Foundation.PredicateExpressions.", with: "")
      .replacing("FoundationEssentials.", with: "").replacing("Foundation.", with: "")
      .replacing("Swift.", with: "").replacing("PipelineLibrary.", with: "")
    return LibraryError(
      .notAQuestion, "A search can't express this part of the predicate: \(name).")
  }
}

/// Part of a predicate that a filter can express.
protocol Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
}

// MARK: - Comparing

extension PredicateTranslation {
  enum Comparison {
    case less, lessOrEqual, equal, greaterOrEqual, greater

    var reversed: Comparison {
      switch self {
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .equal: .equal
      case .greaterOrEqual: .lessOrEqual
      case .greater: .less
      }
    }
  }

  func equality(_ left: Term, _ right: Term, _ part: Any) throws(LibraryError) -> Term {
    switch (left, right) {
    case (.field(let field), .null), (.null, .field(let field)):
      return .condition(.not(.known(field)))
    case (.constant(let value), let term), (let term, .constant(let value)):
      return try comparison(term, .equal, value, part)
    default: throw unsupported(part)
    }
  }

  /// A comparison with a constant; a missing value meets none.
  func comparison(
    _ term: Term, _ comparison: Comparison, _ value: Any, _ part: Any
  ) throws(LibraryError) -> Term {
    switch term {
    case .field(let field):
      return .condition(try self.comparison(field, comparison, value, part))
    case .ofOwnType(let field) where comparison == .equal:
      return .condition(try self.comparison(field, comparison, value, part))
    case .unwrapped(let field):
      return .conditionIfKnown(field, try self.comparison(field, comparison, value, part))
    case .defaulted(let field, let other):
      let filter: Filter = try self.comparison(field, comparison, value, part)
      let holdsWithout = try Self.holds(other, comparison, value, self, part)
      return .condition(holdsWithout ? .any([filter, .not(.known(field))]) : filter)
    case .conditionIfKnown(let field, let filter):
      guard comparison == .equal, let isTrue = value as? Bool else { throw unsupported(part) }
      return .condition(isTrue ? filter : .all([.known(field), .not(filter)]))
    case .condition(let filter):
      guard comparison == .equal, let isTrue = value as? Bool else { throw unsupported(part) }
      return .condition(isTrue ? filter : .not(filter))
    case .asset, .list, .ofOwnType, .constant, .null: throw unsupported(part)
    }
  }

  /// The condition that a term is.
  func filter(_ term: Term, _ part: Any) throws(LibraryError) -> Filter {
    switch term {
    case .condition(let filter), .conditionIfKnown(_, let filter): return filter
    default: throw unsupported(part)
    }
  }

  private func comparison(
    _ field: Field, _ comparison: Comparison, _ value: Any, _ part: Any
  ) throws(LibraryError) -> Filter {
    switch field {
    case .text(let field):
      let text = (value as? AssetID)?.description ?? value as? String
      guard comparison == .equal, let text else { throw unsupported(part) }
      return .text(field, .equals(TextFolding.compose(text)))
    case .number(let field):
      guard let number = Self.number(value) else { throw unsupported(part) }
      return .number(field, NumberRange(comparison, number))
    case .time(let field):
      guard let date = value as? Date else { throw unsupported(part) }
      return .time(field, TimeRange(comparison, date.microseconds))
    }
  }

  private static func number(_ value: Any) -> Double? {
    value as? Double ?? (value as? Int).map { Double($0) }
  }

  /// Whether the value that stands for a missing one meets the comparison.
  private static func holds(
    _ left: Any, _ comparison: Comparison, _ right: Any, _ translation: Self, _ part: Any
  ) throws(LibraryError) -> Bool {
    if let left = number(left), let right = number(right) {
      return NumberRange(comparison, right).contains(left)
    }
    if let left = left as? Date, let right = right as? Date {
      return TimeRange(comparison, right.microseconds).contains(left.microseconds)
    }
    if let left = left as? String, let right = right as? String, comparison == .equal {
      return left == right
    }
    throw translation.unsupported(part)
  }

  /// A condition on a text; a missing one meets none.
  func text(
    _ term: Term, _ value: Term, _ part: Any, _ match: (String) -> TextMatch
  ) throws(LibraryError) -> Filter {
    guard case .constant(let constant) = value, let text = constant as? String else {
      throw unsupported(part)
    }
    switch term {
    case .field(.text(let field)), .unwrapped(.text(let field)):
      return .text(field, match(text))
    case .defaulted(.text(let field), let other as String):
      let filter = Filter.text(field, match(text))
      return match(text).holds(for: other) ? .any([filter, .not(.known(.text(field)))]) : filter
    default: throw unsupported(part)
    }
  }
}

extension NumberRange {
  fileprivate init(_ comparison: PredicateTranslation.Comparison, _ number: Double) {
    self.init()
    func bound(_ isIncluded: Bool) -> Bound { Bound(value: number, isIncluded: isIncluded) }
    switch comparison {
    case .less: upper = bound(false)
    case .lessOrEqual: upper = bound(true)
    case .equal: (lower, upper) = (bound(true), bound(true))
    case .greaterOrEqual: lower = bound(true)
    case .greater: lower = bound(false)
    }
  }
}

extension TimeRange {
  fileprivate init(_ comparison: PredicateTranslation.Comparison, _ time: Int64) {
    // No time is so late that nothing comes after it, but for this.
    let next = time == .max ? time : time + 1
    switch comparison {
    case .less: self.init(lower: nil, upper: time)
    case .lessOrEqual: self.init(lower: nil, upper: next)
    case .equal: self.init(lower: time, upper: next)
    case .greaterOrEqual: self.init(lower: time, upper: nil)
    case .greater: self.init(lower: next, upper: nil)
    }
  }
}
