import Files

/// The number of files in a group: few at first, so that stages get work soon, then more, so that
/// one flush serves many, as long as a group takes about a second: between groups, stages, requests
/// and signals get their turn.
struct GroupSize {
  private(set) var files = min(8, Self.most)
  /// The most bytes of a group, unless one file exceeds them.
  let bytes = 256 << 20
  /// Each file of a group needs three open descriptors; half of the limit is left for the rest.
  private static let most = max(1, min(512, DescriptorLimit.current / 6))
  /// A slow disk makes small groups slow, too: still smaller ones would only flush more often.
  private static let fewestAfterSlow = min(64, most)
  private static let aim = Duration.seconds(1)

  /// Adapts the size to a group's duration.
  ///
  /// - Parameters:
  ///   - wasFull: whether the group could have been larger.
  ///   - duration: how long it took.
  mutating func learn(wasFull: Bool, duration: Duration) {
    if duration > Self.aim * 2 {
      files = min(files, max(Self.fewestAfterSlow, files / 2))
    } else if wasFull, duration < Self.aim / 2 {
      // Twice as many files take at most twice as long.
      files = min(files * 2, Self.most)
    }
  }
}
