import PipelineModel
package import Records

/// The state that an asset implies for the path it came from: `imported` when the asset was made,
/// with no file left.
///
/// Such a sighting has no row. Otherwise each scan of a `move` source would read a row for every file
/// ever imported.
enum ImpliedSighting {
  /// The columns of `Connection.sightingColumns`, from a row of `asset`.
  static let columns = """
    asset.path, 'imported', NULL, NULL, NULL, NULL, asset.id, NULL, asset.imported_at, FALSE,
    asset.run
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

extension Catalog {
  /// Removes, in one transaction, sightings from an older version that assets imply.
  ///
  /// - Parameter limit: how many rows to check.
  /// - Returns: whether more rows remain to be checked.
  package func removeImpliedSightings(among limit: Int) throws(CatalogError) -> Bool {
    try write { (writer) throws(CatalogError) in try writer.removeImplied(among: limit) }
  }
}

extension CatalogWriter {
  fileprivate func removeImplied(among limit: Int) throws(CatalogError) -> Bool {
    let text = try connection.first(Setting.read, Setting.impliedSightings) { $0.text(0) }
    guard let text else { return false }
    let place = SightingKey(text)
    let end = try connection.first(
      """
      SELECT source, path FROM sighting WHERE (source, path) > (?, ?)
      ORDER BY source, path LIMIT 1 OFFSET ?
      """, place.source, place.path, limit - 1
    ) { SightingKey(source: $0.int64(0), path: $0.path(1)) }
    let last = end ?? .behindAll
    try connection.execute(
      """
      DELETE FROM sighting
      WHERE (source, path) > (?, ?) AND (source, path) <= (?, ?) AND \(ImpliedSighting.isRedundant)
      """, place.source, place.path, last.source, last.path)
    if let end {
      try connection.execute(Setting.write, Setting.impliedSightings, end.text)
    } else {
      try connection.execute("DELETE FROM setting WHERE key = ?", Setting.impliedSightings)
    }
    return end != nil
  }

  /// Returns whether the newest asset from its path implies a sighting.
  func isImplied(_ sighting: Sighting, source: Int64) throws(CatalogError) -> Bool {
    guard sighting.state == .imported, sighting.identity == nil, sighting.reason == nil,
      !sighting.awaitsRemoval, let asset = sighting.asset
    else { return false }
    return try connection.first(
      """
      SELECT id, imported_at FROM asset WHERE source = ? AND path = ? ORDER BY id DESC LIMIT 1
      """, source, sighting.path
    ) { (row) throws(CatalogError) in
      try row.assetID(0) == asset && row.timestamp(1) == sighting.seenAt
    } ?? false
  }

  /// Removes the row of a path if the newest asset from there implies it.
  func removeImplied(source: BytePath, path: BytePath) throws(CatalogError) {
    try connection.execute(
      """
      DELETE FROM sighting WHERE source = (SELECT id FROM source WHERE path = ?) AND path = ?
        AND \(ImpliedSighting.isRedundant)
      """, source, path)
  }
}

/// The key of a row of `sighting`, stored as text in a setting.
private struct SightingKey {
  var source: Int64
  var path: BytePath

  static let behindAll = SightingKey(source: .max, path: BytePath(bytes: []))

  init(source: Int64, path: BytePath) {
    self.source = source
    self.path = path
  }

  /// Parses `text`; invalid text is the place before all rows.
  init(_ text: String) {
    let parts = text.split(separator: " ")
    self.init(
      source: parts.first.flatMap { Int64($0) } ?? 0,
      path: BytePath(bytes: parts.last.flatMap { Hexadecimal.decode(Array($0.utf8)) } ?? []))
  }

  var text: String { "\(source) \(Hexadecimal.encode(path.bytes))" }
}
