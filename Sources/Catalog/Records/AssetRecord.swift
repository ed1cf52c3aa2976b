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

  package init(
    id: AssetID, digest: Digest, size: Int, name: BytePath, source: BytePath, path: BytePath,
    modified: Int64, importedAt: Timestamp, supersedes: AssetID? = nil, state: State,
    identity: JSONValue? = nil, renditions: [RenditionRecord]
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
    self.renditions = renditions
  }
}
