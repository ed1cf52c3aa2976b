import PipelineModel

/// The state that an asset implies for the path it came from: `imported` when the asset was made,
/// with no file left.
///
/// Such a sighting has no row. Otherwise each scan of a `move` source would read a row for every file
/// ever imported.
enum ImpliedSighting {
  /// The columns of `Connection.sightingColumns`, from a row of `asset`.
  static let columns = """
    asset.path, 'imported', NULL, NULL, NULL, NULL, asset.id, NULL, asset.imported_at, 0
    """

  /// Whether a row of `asset` implies the state of its path: the path has no row, and no newer asset
  /// came from there.
  static let condition = """
    NOT EXISTS (SELECT 1 FROM sighting AS known
        WHERE known.source = asset.source AND known.path = asset.path)
      AND NOT EXISTS (SELECT 1 FROM asset AS newer
        WHERE newer.source = asset.source AND newer.path = asset.path AND newer.id > asset.id)
    """

  /// Whether the newest asset from its path implies a row of `sighting`.
  static let isRedundant = """
    sighting.state = 'imported' AND sighting.inode IS NULL AND sighting.reason IS NULL
      AND sighting.awaits_removal = 0
      AND (sighting.asset, sighting.seen_at) = (SELECT asset.id, asset.imported_at FROM asset
        WHERE asset.source = sighting.source AND asset.path = sighting.path
        ORDER BY asset.id DESC LIMIT 1)
    """
}

extension Connection {
  /// The sighting that the newest asset from a path implies, or `nil` if no asset came from there.
  ///
  /// Valid only if the path has no row.
  func impliedSighting(source: BytePath, path: BytePath) throws(CatalogError) -> Sighting? {
    try first(
      """
      SELECT \(ImpliedSighting.columns) FROM asset
      WHERE asset.source = (SELECT id FROM source WHERE path = ?) AND asset.path = ?
      ORDER BY asset.id DESC LIMIT 1
      """, source, path
    ) { (row) throws(CatalogError) in try row.sighting(source: source) }
  }
}
