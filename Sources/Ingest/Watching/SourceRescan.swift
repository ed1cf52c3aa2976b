/// A look through a source that is under way, in pieces between which files are taken.
struct SourceRescan {
  var comparison: SourceComparison
  /// Whether failed files are tried again.
  let isFull: Bool
  /// Whether it has a reason other than that it is time.
  let isSpecial: Bool
  /// The time that was spent on it so far.
  var spent = Duration.zero
  /// Known files that it did not come across.
  var missing: MissingShare
  /// Whether files were passed over because too many wait.
  var isCut = false

  /// How long one piece may take.
  static let piece = Duration.milliseconds(50)
}
