package import PipelineModel

/// Counts for `status`.
package struct StatusCounts: Hashable, Sendable {
  /// The number of assets.
  package var assets: Int
  /// The number of originals.
  package var originals: Int
  /// The bytes of all originals.
  package var originalBytes: Int
  /// The number of renditions.
  package var renditions: Int
  /// The bytes of all renditions.
  package var renditionBytes: Int
  /// Paths by state.
  package var sightings: [Sighting.State: Int]
  /// Paths at which something ought to be, by source and state.
  package var pathsOnDisk: [BytePath: [Sighting.State: Int]]
  /// Jobs of configured stages: stage name → state → number of ledger rows.
  package var jobs: [String: [LedgerState: Int]]
  /// The last run that ended.
  package var lastRun: RunRecord?

  /// Makes it from its parts.
  package init(
    assets: Int, originals: Int, originalBytes: Int, renditions: Int, renditionBytes: Int,
    sightings: [Sighting.State: Int], pathsOnDisk: [BytePath: [Sighting.State: Int]],
    jobs: [String: [LedgerState: Int]],
    lastRun: RunRecord? = nil
  ) {
    self.assets = assets
    self.originals = originals
    self.originalBytes = originalBytes
    self.renditions = renditions
    self.renditionBytes = renditionBytes
    self.sightings = sightings
    self.pathsOnDisk = pathsOnDisk
    self.jobs = jobs
    self.lastRun = lastRun
  }
}
