/// Identifies one attempt; the ledger refuses the token once the attempt has ended.
package struct AttemptToken: Hashable, Sendable {
  /// The number of the attempt.
  package let rawValue: Int64
  /// Creates a token.
  package init(rawValue: Int64) { self.rawValue = rawValue }
}
