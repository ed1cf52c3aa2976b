package import PipelineModel

/// An asset as `list` and `show` give it.
package struct AssetRecord: Hashable, Sendable {
  /// What is going on with an asset's jobs.
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
  /// When its bytes were safe.
  package var importedAt: Timestamp
  /// The asset that was known at the same path before.
  package var supersedes: AssetID?
  /// What is going on with it.
  package var state: State
  /// The facts of the stage whose plugin is `identify`; `nil` until that is done.
  package var identity: JSONValue?
  /// When it was put into the trash; `nil` if it is not there.
  package var trashedAt: Timestamp?
  /// How many of the configured stages don't work on such files.
  package var skipped: Int
  /// Renditions of the configured stages, in the order of stages and names.
  package var renditions: [RenditionRecord]

  /// Makes it from its parts.
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
