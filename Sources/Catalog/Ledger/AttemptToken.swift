/// The name of one attempt; a completed or abandoned one is refused.
package struct AttemptToken: Hashable, Sendable {
  /// The number of the attempt.
  package let rawValue: Int64
  /// Makes it from its parts.
  package init(rawValue: Int64) { self.rawValue = rawValue }
}
