package import PipelineModel

/// An asset, for `list` and `show`.
package struct AssetRecord: Hashable, Sendable {
  /// The state of an asset, derived from the trash and its jobs.
  package enum State: String, Hashable, Sendable {
    case ready, processing, done, failed, trashed
  }

  /// The key.
  package var id: AssetID
  /// The SHA-256 of the bytes.
  package var digest: Digest
  /// The number of bytes.
  package var size: Int
  /// The name.
  package var name: BytePath
  /// The absolute path of the source.
  package var source: BytePath
  /// The path relative to the source.
  package var path: BytePath
  /// The file's modification time in nanoseconds since 1970.
  package var modified: Int64
  /// When its bytes became durable.
  package var importedAt: Timestamp
  /// The previous asset at the same path.
  package var supersedes: AssetID?
  /// The state.
  package var state: State
  /// The facts of the stage with the plugin `identify`; `nil` until it is done.
  package var identity: JSONValue?
  /// When it was put into the trash; `nil` if it is not in the trash.
  package var trashedAt: Timestamp?
  /// The number of configured stages that skipped it.
  package var skipped: Int
  /// Renditions of the configured stages, ordered by stage and name.
  package var renditions: [RenditionRecord]

  /// Creates a record.
  package init(
    id: AssetID, digest: Digest, size: Int, name: BytePath, source: BytePath, path: BytePath,
    modified: Int64, importedAt: Timestamp, supersedes: AssetID? = nil, state: State,
    identity: JSONValue? = nil, trashedAt: Timestamp? = nil, skipped: Int = 0,
    renditions: [RenditionRecord]
  ) {
    self.id = id
    self.digest = digest
    self.size = size
    self.name = name
    self.source = source
    self.path = path
    self.modified = modified
    self.importedAt = importedAt
    self.supersedes = supersedes
    self.state = state
    self.identity = identity
    self.trashedAt = trashedAt
    self.skipped = skipped
    self.renditions = renditions
  }
}
