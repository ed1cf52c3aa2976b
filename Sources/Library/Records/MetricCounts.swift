/// Counts for metrics, besides those for `status`.
package struct MetricCounts: Hashable, Sendable {
  /// The number of assets outside the trash with a job that is due or failed, by state; all others are done.
  package var unfinished: [AssetRecord.State: Int]
  /// The number of assets in the trash.
  package var trashed: Int
  /// The number of failed jobs of assets outside the trash, by stage name and class.
  package var failures: [String: [String: Int]]
  /// The number of attempts at jobs that ever began; 0 again in a catalog made anew.
  package var attemptsBegun: Int
  /// The number of renditions ever recorded; 0 again in a catalog made anew.
  package var renditionsMade: Int

  package init(
    unfinished: [AssetRecord.State: Int], trashed: Int, failures: [String: [String: Int]],
    attemptsBegun: Int, renditionsMade: Int
  ) {
    self.unfinished = unfinished
    self.trashed = trashed
    self.failures = failures
    self.attemptsBegun = attemptsBegun
    self.renditionsMade = renditionsMade
  }
}
