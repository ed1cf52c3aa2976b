import CSQLite

/// The index of a write-ahead log at the moment when another process writes to it.
///
/// A process that may not write to the index, such as one in a sandbox, then gets
/// `SQLITE_READONLY_RECOVERY` if the other one is just done: SQLite finds nobody at work on what it has
/// read in between, and takes the other process for killed. Source: `walIndexReadHdr` of SQLite 3.40.
enum HalfWrittenIndex {
  /// `SQLITE_READONLY_RECOVERY`, a macro that Swift does not import.
  static let code = SQLITE_READONLY | 1 << 8
  /// How often to look again, a millisecond apart: longer than a process that may write to the index and
  /// looks at it once a second, as `pipeline serve` does, leaves it as one that was killed left it.
  private static let mostTries = 1500

  /// Calls a function of SQLite until the index is whole.
  ///
  /// - Parameter again: called before each further call.
  /// - Returns: the code of the last call.
  static func passing(_ call: () -> Int32, again: () -> Void = {}) -> Int32 {
    var result = call()
    var tries = 0
    while result == code, tries < mostTries {
      tries += 1
      sqlite3_sleep(1)
      again()
      result = call()
    }
    return result
  }
}
