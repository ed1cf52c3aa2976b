package import PipelineModel

extension CatalogReader {
  /// Returns a cursor over the current sighting rows of a source, in the byte order of their paths.
  package func sightings(of source: BytePath) throws(CatalogError) -> SightingCursor {
    try SightingCursor(catalog: path, source: source, awaitingRemoval: false)
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
        ORDER BY 11, 1
        """, asset
      ) { (row) throws(CatalogError) in try row.sighting(source: row.path(10)) }
    }
  }

  /// Returns a path whose file a later run than the asset's own discarded as a duplicate of the
  /// asset; `nil` if there is none.
  package func pathLetGo(for asset: AssetID) throws(CatalogError) -> BytePath? {
    try read { (connection) throws(CatalogError) in
      try connection.first(
        """
        SELECT source.path, seen.path
        FROM sighting AS seen JOIN asset ON asset.id = seen.asset
          JOIN source ON source.id = seen.source
        WHERE seen.asset = ? AND seen.state = 'duplicate'
          AND (seen.inode IS NULL OR seen.awaits_removal)
          AND EXISTS (SELECT 1 FROM run
            WHERE run.id > asset.run AND run.started_at <= seen.seen_at)
        ORDER BY source.path, seen.path LIMIT 1
        """, asset
      ) { $0.path(0).appending($0.path(1)) }
    }
  }

  /// Returns the sighting of a path of a source, or `nil`.
  package func sighting(
    source: BytePath, path: BytePath
  ) throws(CatalogError) -> Sighting? {
    try read { (connection) throws(CatalogError) in
      try connection.sighting(source: source, path: path)
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
