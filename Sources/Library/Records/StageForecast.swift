/// The remaining work of a stage, and its average cost so far.
package struct StageForecast: Hashable, Sendable {
  /// The number of rows without a result under the stage's current fingerprint.
  package var due: Int
  /// Average seconds per row, including what was skipped without work, but not what was done
  /// without it, by keeping a former result; `nil` without history.
  package var seconds: Double?
  /// Average bytes of renditions per row; `nil` without history.
  package var bytes: Double?

  /// Creates a forecast; omit the averages for a stage without history.
  package init(due: Int, seconds: Double? = nil, bytes: Double? = nil) {
    self.due = due
    self.seconds = seconds
    self.bytes = bytes
  }
}
