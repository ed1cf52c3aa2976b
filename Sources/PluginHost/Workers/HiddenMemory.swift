/// Whether a worker keeps it to itself how much memory it has.
///
/// The kernel tells of no memory for a moment while it replaces or ends a process; so this has to be
/// seen several times in a row.
struct HiddenMemory {
  private static let enough = 3

  private var looks = 0

  /// Takes note of a look.
  ///
  /// - Returns: whether it was hidden at this look and those before.
  mutating func look(isHidden: Bool) -> Bool {
    looks = isHidden ? looks + 1 : 0
    return looks >= Self.enough
  }
}
