/// The state of a row.
package enum LedgerState: String, Hashable, Sendable, CaseIterable {
  /// A needed row is not done yet.
  case waiting
  /// May be claimed, possibly not before a given time.
  case ready
  /// Claimed by an attempt.
  case running
  case done, skipped, failed
}
