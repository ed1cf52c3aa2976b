package import PipelineModel
package import Records

extension CatalogReader {
  /// Calls a body for each asset, in key order.
  ///
  /// Holds no snapshot while the body runs. Includes assets recorded in the meantime if their key
  /// follows the current page, and assets deleted from the current page.
  ///
  /// - Throws: errors of the body, or a `CatalogError`.
  package func assets(_ body: (AssetRecord) throws -> Void) throws {
    try forEachPage(of: AssetQuery.assets, body)
  }

  /// Calls a body for each asset in the trash, as `assets` does.
  package func trashedAssets(_ body: (AssetRecord) throws -> Void) throws {
    try forEachPage(of: AssetQuery.trashedAssets, body)
  }

  /// Calls a body for each asset as `assets` does, with its line of `list --json`.
  ///
  /// Names that are not UTF-8 are copied unchanged; `damage` is empty, because it is kept elsewhere.
  ///
  /// - Parameter body: gets `nil` for a line that SQL can't write.
  package func assetLines(_ body: (AssetID, [UInt8]?) throws -> Void) throws {
    var last: AssetID?
    while true {
      let page = try read { (connection) throws(CatalogError) in
        try connection.all(AssetLine.page, SQLValue.blob(last?.bytes ?? [])) {
          (row) throws(CatalogError) in (try row.assetID(0), row.optional(1, row.blob))
        }
      }
      for (id, line) in page { try body(id, line) }
      guard let end = page.last?.0 else { return }
      last = end
    }
  }

  /// Returns an asset's line, as `assetLines` does; `nil` also if there is no such asset.
  package func assetLine(of id: AssetID) throws(CatalogError) -> [UInt8]? {
    try read { (connection) throws(CatalogError) in
      try connection.first(AssetLine.one, id) { $0.optional(1, $0.blob) } ?? nil
    }
  }

  private func forEachPage(of query: String, _ body: (AssetRecord) throws -> Void) throws {
    var last: AssetID?
    while true {
      let page = try read { (connection) throws(CatalogError) in
        try connection.assets(query, after: last)
      }
      for asset in page { try body(asset) }
      guard let end = page.last?.id else { return }
      last = end
    }
  }

  /// Returns an asset, or `nil` if there is none with this key.
  package func asset(_ id: AssetID) throws(CatalogError) -> AssetRecord? {
    try read { (connection) throws(CatalogError) in
      var asset = try connection.first(AssetQuery.assets + " AND asset.id = ?", id) {
        (row) throws(CatalogError) in try row.asset()
      }
      asset?.renditions = try connection.renditions(of: id)
      return asset
    }
  }

  /// Returns the asset keys with a prefix or suffix.
  ///
  /// - Parameters:
  ///   - text: digits of a UUID in either case, with or without dashes;
  ///     anything else matches nothing.
  ///   - limit: the maximum number to return; 2 suffice to detect ambiguity.
  package func assetIDs(matching text: String, limit: Int) throws(CatalogError) -> [AssetID] {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
    let range = Self.keys(beginningWith: digits)
    guard let range else { return [] }
    let suffix = String(decoding: digits, as: UTF8.self).uppercased()
    return try read { (connection) throws(CatalogError) in
      let beginning = try connection.all(
        "SELECT id FROM asset WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        SQLValue.blob(range.first), SQLValue.blob(range.last), limit
      ) { (row) throws(CatalogError) in try row.assetID(0) }
      guard beginning.count < limit, digits.count < 32 else { return beginning }
      // With the smallest index that has the keys.
      let ending = try connection.all(
        """
        SELECT id FROM asset INDEXED BY asset_digest WHERE digest IS NOT NULL
          AND substr(hex(id), 33 - ?1) = ?2 AND id NOT BETWEEN ?3 AND ?4 ORDER BY id LIMIT ?5
        """, digits.count, suffix, SQLValue.blob(range.first), SQLValue.blob(range.last),
        limit - beginning.count
      ) { (row) throws(CatalogError) in try row.assetID(0) }
      return (beginning + ending).sorted()
    }
  }

  /// Returns the assets with these bytes, those in the trash last.
  package func assets(with digest: Digest) throws(CatalogError) -> [AssetID] {
    try read { (connection) throws(CatalogError) in try connection.assets(with: digest) }
  }

  /// Returns the assets that have a rendition, in key order: a hundred at most.
  package func assets(withRendition id: Int64) throws(CatalogError) -> [AssetID] {
    try read { (connection) throws(CatalogError) in
      try connection.all(
        """
        SELECT asset FROM job WHERE ledger = (SELECT ledger FROM rendition WHERE id = ?1)
        UNION SELECT asset FROM job
          WHERE previous_ledger = (SELECT ledger FROM rendition WHERE id = ?1)
        ORDER BY asset LIMIT 100
        """, id
      ) { (row) throws(CatalogError) in try row.assetID(0) }
    }
  }

  /// The least and the greatest key with a prefix.
  private static func keys(beginningWith digits: [UInt8]) -> (first: [UInt8], last: [UInt8])? {
    guard (1...32).contains(digits.count) else { return nil }
    let missing = 32 - digits.count
    let first = Hexadecimal.decode(digits + [UInt8](repeating: UInt8(ascii: "0"), count: missing))
    let last = Hexadecimal.decode(digits + [UInt8](repeating: UInt8(ascii: "f"), count: missing))
    guard let first, let last else { return nil }
    return (first, last)
  }
}

extension Connection {
  fileprivate func renditions(of id: AssetID) throws(CatalogError) -> [RenditionRecord] {
    try all(
      AssetQuery.renditions + " WHERE job.asset = ? ORDER BY stage.position, rendition.name", id
    ) { (row) throws(CatalogError) in try row.rendition(1) }
  }

  fileprivate func assets(
    _ query: String, after last: AssetID?
  ) throws(CatalogError) -> [AssetRecord] {
    var page = try all(
      "\(query) AND asset.id > ? ORDER BY asset.id LIMIT \(CatalogReader.pageSize)",
      SQLValue.blob(last?.bytes ?? [])
    ) { (row) throws(CatalogError) in try row.asset() }
    // One by one, because all other assets may lie between two assets in the trash.
    for index in page.indices { page[index].renditions = try renditions(of: page[index].id) }
    return page
  }
}
