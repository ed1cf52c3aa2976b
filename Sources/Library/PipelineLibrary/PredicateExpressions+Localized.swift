public import Foundation
import Query

// Foundation on Linux has no such expressions, but `#Predicate` writes calls of these functions
// wherever the method is called. Source: swift-foundation, PredicateMacro.swift.

extension PredicateExpressions {
  /// `text.localizedStandardContains(other)`: whether a text contains another, without case and
  /// accents, whatever the locale.
  public struct StringLocalizedStandardContains<
    Root: PredicateExpression, Other: PredicateExpression
  >: PredicateExpression where Root.Output: StringProtocol, Other.Output: StringProtocol {
    public typealias Output = Bool

    public let root: Root
    public let other: Other

    public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
      TextMatch.contains(TextFolding.fold(String(try other.evaluate(bindings))))
        .holds(for: String(try root.evaluate(bindings)))
    }
  }

  /// Makes the expression of `root.localizedStandardContains(other)`.
  // The macro chose the name.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static func build_localizedStandardContains<Root, Other>(
    _ root: Root, _ other: Other
  ) -> StringLocalizedStandardContains<Root, Other> {
    StringLocalizedStandardContains(root: root, other: other)
  }
}

extension PredicateExpressions.StringLocalizedStandardContains: Sendable
where Root: Sendable, Other: Sendable {}

extension PredicateExpressions.StringLocalizedStandardContains: Codable
where Root: Codable, Other: Codable {}

extension PredicateExpressions.StringLocalizedStandardContains: StandardPredicateExpression
where Root: StandardPredicateExpression, Other: StandardPredicateExpression {}

extension PredicateExpressions.StringLocalizedStandardContains: Translatable {
  func term(in translation: PredicateTranslation) throws(LibraryError) -> PredicateTranslation.Term
  {
    .condition(
      try translation.text(try translation.term(root), try translation.term(other), self) {
        .contains(TextFolding.fold($0))
      })
  }
}
