package import PipelineModel
package import Records

extension CatalogReader {
  /// Returns a cursor over the current sighting rows of a source, in the byte order of their paths.
  package func sightings(of source: BytePath) throws(CatalogError) -> SightingCursor {
    try SightingCursor(catalog: place, source: source)
  }

  /// Returns the paths where an asset's bytes were seen.
  package func sightings(of asset: AssetID) throws(CatalogError) -> [Sighting] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT \(Connection.sightingColumns), source.path
        FROM sighting JOIN source ON source.id = sighting.source
        WHERE sighting.asset = ?1
        UNION ALL
        SELECT \(ImpliedSighting.columns), source.path
        FROM asset JOIN source ON source.id = asset.source
        WHERE asset.id = ?1 AND \(ImpliedSighting.condition)
        ORDER BY 12, 1
        """, asset
      ) { (row) throws(CatalogError) in try row.sighting(source: row.path(11)) }
    }
  }

  /// Returns the sightings of an absolute path in all sources that contain it.
  ///
  /// Finds an ignored folder with or without its trailing slash.
  package func sightings(path absolute: BytePath) throws(CatalogError) -> [Sighting] {
    let slash = UInt8(ascii: "/")
    let plain = BytePath(
      bytes: absolute.bytes.last == slash ? absolute.bytes.dropLast() : absolute.bytes[...])
    return try read { (connection) throws(CatalogError) in
      let sources = try connection.all("SELECT path FROM source ORDER BY length(path) DESC, path") {
        $0.path(0)
      }
      var found: [Sighting] = []
      for source in sources {
        guard let path = plain.relative(to: source) else { continue }
        for candidate in [path, BytePath(bytes: path.bytes + [slash])] {
          if let sighting = try connection.sighting(source: source, path: candidate) {
            found.append(sighting)
          }
        }
      }
      return found
    }
  }
}

extension Connection {
  /// The columns that `Statement.sighting(source:)` reads.
  static let sightingColumns = """
    sighting.path, sighting.state, sighting.inode, sighting.size, sighting.modified,
    sighting.changed, sighting.asset, sighting.reason, sighting.seen_at, sighting.awaits_removal,
    sighting.run
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
      seenAt: timestamp(8), awaitsRemoval: bool(9), run: try optionalAssetID(10))
  }
}

extension Connection {
  /// SQL for whether another run than that of `asset` found a path's file, a row `seen` of `sighting`.
  ///
  /// Runs overlap: that of a `watch` is open while files are imported by name, and those of several machines are at once.
  /// Older versions did not record which run it was; there, any that began after that of `asset` may have been.
  static let isOfAnotherRun = """
    (seen.run <> asset.run OR seen.run IS NULL
      AND EXISTS (SELECT 1 FROM run WHERE run.id > asset.run AND run.started_at <= seen.seen_at))
    """

  /// SQL for whether a path's file, a row `seen` of `sighting`, was discarded as a duplicate of `asset` by another run.
  static let isLetGo = """
    seen.state = 'duplicate' AND (seen.inode IS NULL OR seen.awaits_removal) AND \(isOfAnotherRun)
    """
}
