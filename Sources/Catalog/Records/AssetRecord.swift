package import PipelineModel

/// An asset as `list` and `show` give it.
package struct AssetRecord: Hashable, Sendable {
  /// What is going on with an asset's jobs.
  package enum State: String, Hashable, Sendable {
    case ready, processing, done, failed, trashed
  }

  package var id: AssetID
  package var digest: Digest
  package var size: Int
  package var name: BytePath
  package var source: BytePath
  package var path: BytePath
  /// The file's modification time in nanoseconds since 1970.
  package var modified: Int64
  package var importedAt: Timestamp
  package var supersedes: AssetID?
  package var state: State
  /// The facts of the stage whose plugin is `identify`; `nil` until that is done.
  package var identity: JSONValue?
  /// Renditions of the configured stages, in the order of stages and names.
  package var renditions: [RenditionRecord]
}

/// A rendition as it is recorded.
package struct RenditionRecord: Hashable, Sendable {
  package var id: Int64
  package var stage: String
  package var name: String
  package var mediaType: String
  package var width: Int
  package var height: Int
  /// The number of bytes.
  package var bytes: Int
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// `image` or `preview`.
  package var from: String?
  /// The path below the library, or `nil` if the bytes are in the database.
  package var path: String?
  /// Whether a newer one is due: this one was made with other options.
  package var isStale: Bool
}

/// A job of an asset, for `show` and `explain`.
package struct JobRecord: Hashable, Sendable {
  package var stage: String
  package var state: LedgerState
  package var attempts: Int
  package var failureClass: String?
  package var reason: String?
  package var facts: JSONValue?
  /// Seconds that the last attempt took.
  package var seconds: Double?
  package var finishedAt: Timestamp?
  /// When a transient failure is tried again.
  package var notBefore: Timestamp?
}

/// A failure as `failed` gives it.
package struct FailureRecord: Hashable, Sendable {
  package var asset: AssetID
  package var name: BytePath
  package var stage: String
  package var failureClass: String
  package var reason: String
  package var attempts: Int
}

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
}

/// One execution of `run`, `import` or a burst of `watch`.
package struct RunRecord: Hashable, Sendable {
  package var id: AssetID
  package var verb: String
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// The counters of its summary.
  package var counters: [String: Int]
}
