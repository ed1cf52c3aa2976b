/// The name of one attempt; a completed or abandoned one is refused.
package struct AttemptToken: Hashable, Sendable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
}
