import Files

/// How many files one group takes: few at first, so that stages get work soon,
/// then more, so that one flush serves many, as long as a group is done in about
/// a second: between groups, stages, requests and signals get their turn.
struct GroupSize {
  private(set) var files = min(8, Self.most)
  /// Bytes that a group does not exceed, unless one file does.
  let bytes = 256 << 20
  /// Three descriptors are open for each file of a group; half of them all are left
  /// for everything else.
  private static let most = max(1, min(512, DescriptorLimit.current / 6))
  /// A slow disk makes small groups slow, too: smaller ones would only flush more often.
  private static let fewestAfterSlow = min(64, most)
  private static let aim = Duration.seconds(1)

  /// Learns from a group.
  ///
  /// - Parameters:
  ///   - wasFull: whether it could have been larger.
  ///   - duration: how long it took.
  mutating func learn(wasFull: Bool, duration: Duration) {
    if duration > Self.aim * 2 {
      files = min(files, max(Self.fewestAfterSlow, files / 2))
    } else if wasFull, duration < Self.aim / 2 {
      // Twice as many take at most twice as long.
      files = min(files * 2, Self.most)
    }
  }
}
