package import PipelineModel

/// An asset, for `list` and `show`.
package struct AssetRecord: Hashable, Sendable {
  /// The state of an asset, derived from the trash and its jobs.
  package enum State: String, CaseIterable, Hashable, Sendable {
    case ready, processing, done, failed, trashed
  }

  package var id: AssetID
  package var digest: Digest
  package var size: Int
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
  package var state: State
  /// The facts of the stage with the plugin `identify`; `nil` until it is done.
  package var identity: JSONValue?
  /// When it was put into the trash; `nil` if it is not in the trash.
  package var trashedAt: Timestamp?
  /// The number of configured stages that skipped it.
  package var skipped: Int
  /// What a user says about it, by property and text.
  package var annotations: [Annotation]
  /// Its place in its group; `nil` if it is in none.
  package var group: GroupMember?
  /// What stands for the burst that its shot is of; `nil` if it is of none.
  package var cover: AssetID?
  /// Why it has no thumbnail; `nil` if it has one, or may get one.
  package var withoutThumbnail: ThumbnailGap?
  /// Renditions of the configured stages, ordered by stage and name.
  package var renditions: [RenditionRecord]

  package init(
    id: AssetID, digest: Digest, size: Int, name: BytePath, source: BytePath, path: BytePath,
    modified: Int64, importedAt: Timestamp, supersedes: AssetID? = nil, state: State,
    identity: JSONValue? = nil, trashedAt: Timestamp? = nil, skipped: Int,
    annotations: [Annotation], group: GroupMember? = nil, cover: AssetID? = nil,
    withoutThumbnail: ThumbnailGap? = nil, renditions: [RenditionRecord]
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
    self.annotations = annotations
    self.group = group
    self.cover = cover
    self.withoutThumbnail = withoutThumbnail
    self.renditions = renditions
  }

  /// The renditions that a name means, which is `NAME` or `STAGE/NAME`: two stages may share the
  /// former.
  package func renditions(named name: String) -> [RenditionRecord] {
    renditions.filter { $0.name == name || "\($0.stage)/\($0.name)" == name }
  }
}

/// An asset's original file: its path and attributes, as in `AssetRecord`.
package struct AssetOrigin: Hashable, Sendable {
  package var id: AssetID
  package var digest: Digest
  package var size: Int
  package var source: BytePath
  package var path: BytePath
  package var modified: Int64
  package var permissions: UInt32
  package var isTrashed: Bool

  package init(
    id: AssetID, digest: Digest, size: Int, source: BytePath, path: BytePath, modified: Int64,
    permissions: UInt32, isTrashed: Bool
  ) {
    self.id = id
    self.digest = digest
    self.size = size
    self.source = source
    self.path = path
    self.modified = modified
    self.permissions = permissions
    self.isTrashed = isTrashed
  }
}

/// What matters for returning assets of a run besides their own places.
package struct OriginRelations: Sendable {
  /// A path, of each asset that has one, whose file a later run discarded as a duplicate of it.
  package var letGo: [AssetID: BytePath] = [:]
  /// Where else in its source an asset's own file is: it was copied, and renamed since.
  package var otherPaths: [AssetID: [BytePath]] = [:]
  /// Assets with whose path the same run took other bytes later.
  package var followed: Set<AssetID> = []

  package init() {}
}

/// An asset to record for an imported file, with values as in `AssetRecord`.
package struct NewAsset: Hashable, Sendable {
  package var id: AssetID
  package var digest: Digest
  package var size: Int
  /// The file's raw name at import.
  package var name: BytePath
  package var source: BytePath
  package var path: BytePath
  package var modified: Int64
  package var permissions: UInt32
  package var importedAt: Timestamp
  package var run: AssetID?
  package var supersedes: AssetID?

  package init(
    id: AssetID, digest: Digest, size: Int, name: BytePath, source: BytePath, path: BytePath,
    modified: Int64, permissions: UInt32, importedAt: Timestamp, run: AssetID? = nil,
    supersedes: AssetID? = nil
  ) {
    self.id = id
    self.digest = digest
    self.size = size
    self.name = name
    self.source = source
    self.path = path
    self.modified = modified
    self.permissions = permissions
    self.importedAt = importedAt
    self.run = run
    self.supersedes = supersedes
  }
}
