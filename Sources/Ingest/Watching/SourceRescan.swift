/// A scan of a source in progress, in pieces between imports.
struct SourceRescan {
  var comparison: SourceComparison
  /// Whether to retry failed files.
  let isFull: Bool
  /// Whether it has a reason other than the interval.
  let isSpecial: Bool
  var spent = Duration.zero
  var missing: MissingFiles
  /// Whether files were skipped because too many wait.
  var isCut = false

  /// How long one piece may take.
  static let piece = Duration.milliseconds(50)
}
