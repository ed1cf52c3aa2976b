import PipelineModel

extension Connection {
  /// The columns that `Statement.sighting(source:)` reads.
  static let sightingColumns = """
    sighting.path, sighting.state, sighting.inode, sighting.size, sighting.modified,
    sighting.changed, sighting.asset, sighting.reason, sighting.seen_at, sighting.awaits_removal
    """

  /// The row ID of a source, or `nil`.
  func sourceID(_ path: BytePath) throws(CatalogError) -> Int64? {
    try first("SELECT id FROM source WHERE path = ?", path) { $0.int64(0) }
  }

  /// The sighting of a path: its row, or what an asset implies.
  func sighting(source: BytePath, path: BytePath) throws(CatalogError) -> Sighting? {
    let stored = try first(
      """
      SELECT \(Self.sightingColumns) FROM sighting
      WHERE source = (SELECT id FROM source WHERE path = ?) AND path = ?
      """, source, path
    ) { (row) throws(CatalogError) in try row.sighting(source: source) }
    if let stored { return stored }
    return try impliedSighting(source: source, path: path)
  }

  /// The assets with these bytes, those in the trash last.
  func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    try all(
      "SELECT id FROM asset WHERE digest = ? ORDER BY trashed_at IS NOT NULL, id", digest
    ) { (row) throws(CatalogError) in try row.assetID(0) }
  }
}

extension Statement {
  /// Reads a sighting from a row of `sightingColumns`.
  func sighting(source: BytePath) throws(CatalogError) -> Sighting {
    let identity = optional(2) { column in
      FileIdentity(
        inode: UInt64(bitPattern: int64(column)), size: int(3), modified: int64(4),
        changed: int64(5))
    }
    return Sighting(
      source: source, path: path(0), state: try value(1, as: Sighting.State.self),
      identity: identity, asset: try optionalAssetID(6), reason: optional(7, text),
      seenAt: timestamp(8), awaitsRemoval: bool(9))
  }
}
