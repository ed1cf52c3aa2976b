import PipelineModel

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

  /// Inserts the implied row for the path of an asset that is about to be deleted.
  func keepImplied(by asset: AssetID) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO sighting (source, path, state, asset, seen_at)
      SELECT source, path, 'imported', id, imported_at FROM asset
      WHERE id = ? AND \(ImpliedSighting.condition)
      """, asset)
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
