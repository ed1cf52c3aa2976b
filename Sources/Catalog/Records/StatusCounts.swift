/// Counts for `status`.
package struct StatusCounts: Hashable, Sendable {
  package var assets: Int
  package var originals: Int
  package var originalBytes: Int
  package var renditions: Int
  package var renditionBytes: Int
  /// Paths by state.
  package var sightings: [Sighting.State: Int]
  /// Jobs of configured stages: stage name → state → number of ledger rows.
  package var jobs: [String: [LedgerState: Int]]
  /// The last run that ended.
  package var lastRun: RunRecord?

  package init(
    assets: Int, originals: Int, originalBytes: Int, renditions: Int, renditionBytes: Int,
    sightings: [Sighting.State: Int], jobs: [String: [LedgerState: Int]],
    lastRun: RunRecord? = nil
  ) {
    self.assets = assets
    self.originals = originals
    self.originalBytes = originalBytes
    self.renditions = renditions
    self.renditionBytes = renditionBytes
    self.sightings = sightings
    self.jobs = jobs
    self.lastRun = lastRun
  }
}
