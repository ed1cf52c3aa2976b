/// Limits how much of a plugin's log is passed on per job.
///
/// A plugin that floods its log is not stopped, and fills nothing.
struct LogBudget {
  private var bytes = 64 << 10

  /// Whether to pass a line on; each costs its length and a little.
  mutating func spend(_ line: String) -> Bool {
    guard bytes > 0 else { return false }
    bytes -= line.utf8.count + 64
    return true
  }
}
