/// Detects a worker that hides its memory use.
///
/// While the kernel replaces or ends a process, it briefly reports no memory, so several samples in
/// a row must agree.
struct HiddenMemory {
  private static let enough = 3

  private var looks = 0

  /// Records a sample.
  ///
  /// - Returns: whether memory was hidden in this and enough preceding samples.
  mutating func note(isHidden: Bool) -> Bool {
    looks = isHidden ? looks + 1 : 0
    return looks >= Self.enough
  }
}
