/// How much of a plugin's log is passed on for one job.
///
/// A plugin that floods its log is neither stopped by it nor does it fill anything.
struct LogBudget {
  private var bytes = 64 << 10

  /// Whether a line is to be passed on; each costs its length and a little.
  mutating func take(_ line: String) -> Bool {
    guard bytes > 0 else { return false }
    bytes -= line.utf8.count + 64
    return true
  }
}
