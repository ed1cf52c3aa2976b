package import PipelineModel

/// Counts for `status`.
package struct StatusCounts: Hashable, Sendable {
  /// The number of assets outside the trash.
  package var assets: Int
  package var originals: Int
  package var originalBytes: Int
  package var renditions: Int
  package var renditionBytes: Int
  /// The number of paths by state.
  package var sightings: [Sighting.State: Int]
  /// The number of paths with an expected file, by source and state.
  package var pathsOnDisk: [BytePath: [Sighting.State: Int]]
  /// The number of jobs of configured stages, by stage name and state.
  package var jobs: [String: [LedgerState: Int]]
  /// The number of sidecars without a picture.
  package var orphans: Int
  /// The assets outside the trash without a thumbnail.
  package var withoutThumbnail: ThumbnailGapCounts
  package var lastRun: RunRecord?

  package init(
    assets: Int, originals: Int, originalBytes: Int, renditions: Int, renditionBytes: Int,
    sightings: [Sighting.State: Int], pathsOnDisk: [BytePath: [Sighting.State: Int]],
    jobs: [String: [LedgerState: Int]], orphans: Int, withoutThumbnail: ThumbnailGapCounts,
    lastRun: RunRecord?
  ) {
    self.assets = assets
    self.originals = originals
    self.originalBytes = originalBytes
    self.renditions = renditions
    self.renditionBytes = renditionBytes
    self.sightings = sightings
    self.pathsOnDisk = pathsOnDisk
    self.jobs = jobs
    self.orphans = orphans
    self.withoutThumbnail = withoutThumbnail
    self.lastRun = lastRun
  }
}
