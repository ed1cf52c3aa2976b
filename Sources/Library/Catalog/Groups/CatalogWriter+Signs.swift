import PipelineModel
import Query
import Records

/// Keeping the signs of bursts and Live Photos. Whatever changes a file marks its signs, and the
/// transaction's end joins the files with the same sign anew.
extension CatalogWriter {
  /// Writes the signs that follow from what is known of an asset.
  func updateSigns(of asset: AssetID, _ values: AssetValues) throws(CatalogError) {
    let former = try connection.signs(of: asset)
    var signs: [Sign] = []
    if Sign.isPossible(values) {
      let source = try connection.first("SELECT source FROM asset WHERE id = ?", asset) {
        $0.int64(0)
      }
      signs = source.map { Sign.all(asset, source: $0, values) } ?? []
    }
    guard former != signs else { return }
    try markSigns(of: asset)
    try connection.execute("DELETE FROM sign WHERE asset = ?", asset)
    for sign in signs {
      try connection.execute(
        """
        INSERT INTO sign (asset, kind, value, movie, cover, frames, taken, camera)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """, asset, sign.kind.rawValue, SQLValue.blob(sign.value), sign.isMovie,
        sign.isCover, sign.leastFrames, sign.taken, sign.camera)
    }
    try markSigns(of: asset)
  }

  /// Marks the signs of an asset, and those of the version that it replaces.
  func markSigns(of asset: AssetID) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.signed (kind, value) SELECT kind, value FROM sign
        WHERE asset IN (?1, (SELECT supersedes FROM asset WHERE id = ?1))
      ON CONFLICT DO NOTHING
      """, asset)
  }

  /// Marks a sign.
  func mark(_ kind: Sign.Kind, _ value: [UInt8]) throws(CatalogError) {
    try connection.execute(
      "INSERT INTO temp.signed (kind, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
      kind.rawValue, SQLValue.blob(value))
  }

  /// The marked signs of a kind.
  func markedSigns(_ kind: Sign.Kind) throws(CatalogError) -> [[UInt8]] {
    try connection.all("SELECT value FROM temp.signed WHERE kind = ?", kind.rawValue) {
      $0.blob(0)
    }
  }

  /// Joins the files with the marked signs anew and clears the marks.
  func updateMarkedSigns() throws(CatalogError) {
    guard try connection.hasRow("SELECT 1 FROM temp.signed") else { return }
    try updateLivePhotos()
    // Afterwards, because a burst consists of what then stands for each shot.
    try updateBursts()
    try connection.execute("DELETE FROM temp.signed")
  }

  /// SQL: whether an asset counts: it is not in the trash, no newer version replaces it, and all is
  /// known of it.
  static func counts(_ asset: String) -> String {
    """
    (NOT EXISTS (SELECT 1 FROM asset AS own WHERE own.id = \(asset) AND own.trashed_at IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM asset AS newer INDEXED BY asset_supersedes
        WHERE newer.supersedes = \(asset) AND newer.trashed_at IS NULL)
      AND NOT EXISTS (SELECT 1 \(awaitingJobs(of: asset))))
    """
  }
}

extension Connection {
  /// The signs of an asset, ordered by kind.
  func signs(of asset: AssetID) throws(CatalogError) -> [Sign] {
    try all(
      """
      SELECT kind, value, movie, cover, frames, taken, camera FROM sign WHERE asset = ?
      ORDER BY kind
      """, asset
    ) { (row) throws(CatalogError) in
      Sign(
        kind: try row.value(0, as: Sign.Kind.self), value: row.blob(1), isMovie: row.bool(2),
        isCover: row.bool(3), leastFrames: row.int(4), taken: row.optional(5, row.int64),
        camera: row.optional(6, row.text))
    }
  }
}
