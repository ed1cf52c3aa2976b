package import PipelineModel

/// Counts for `status`.
package struct StatusCounts: Hashable, Sendable {
  /// The number of assets outside the trash.
  package var assets: Int
  /// The number of originals.
  package var originals: Int
  /// The bytes of all originals.
  package var originalBytes: Int
  /// The number of renditions.
  package var renditions: Int
  /// The bytes of all renditions.
  package var renditionBytes: Int
  /// The number of paths by state.
  package var sightings: [Sighting.State: Int]
  /// The number of paths with an expected file, by source and state.
  package var pathsOnDisk: [BytePath: [Sighting.State: Int]]
  /// The number of jobs of configured stages, by stage name and state.
  package var jobs: [String: [LedgerState: Int]]
  /// The run that ended last.
  package var lastRun: RunRecord?

  /// Creates counts.
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
