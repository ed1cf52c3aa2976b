package import PipelineModel

extension CatalogReader {
  /// Gives all assets in key order, one at a time.
  ///
  /// No snapshot is held while a body runs. What is recorded meanwhile is given if its key lies
  /// behind the page, and what is deleted from the page is given all the same.
  ///
  /// - Throws: what the body throws, or a `CatalogError`.
  package func assets(_ body: (AssetRecord) throws -> Void) throws {
    try forEachPage(of: AssetQuery.assets, body)
  }

  /// Gives the assets that are in the trash, as `assets` does.
  package func trashedAssets(_ body: (AssetRecord) throws -> Void) throws {
    try forEachPage(of: AssetQuery.trashedAssets, body)
  }

  /// Gives all assets in key order as `assets` does, each as a line of JSON with the keys that
  /// `list --json` prints, in order.
  ///
  /// A name that is not UTF-8 is in the line as it is, and no damage is: that is kept elsewhere.
  ///
  /// - Parameter body: is given `nil` for a line that has to be written otherwise.
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

  private func forEachPage(
    of query: String, _ body: (AssetRecord) throws -> Void
  ) throws {
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

  /// Returns the keys that begin or end with some digits.
  ///
  /// - Parameters:
  ///   - text: digits of a UUID of either case, with or without its dashes;
  ///     anything else matches nothing.
  ///   - limit: how many to return at most; 2 tell whether one is meant.
  package func assetIDs(
    matching text: String, limit: Int
  ) throws(CatalogError) -> [AssetID] {
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
      // Through the smallest index that has the keys.
      let ending = try connection.all(
        """
        SELECT id FROM asset INDEXED BY asset_digest WHERE digest IS NOT NULL
          AND substr(hex(id), -?1) = ?2 AND id NOT BETWEEN ?3 AND ?4 ORDER BY id LIMIT ?5
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

  /// Gives the digest and size of all originals in the order of their digests.
  ///
  /// No snapshot is held while a body runs.
  ///
  /// - Throws: what the body throws, or a `CatalogError`.
  package func originals(_ body: (Digest, Int) throws -> Void) throws {
    var last: Digest?
    while true {
      let page = try originals(after: last, limit: Self.pageSize)
      for (digest, size) in page { try body(digest, size) }
      guard let end = page.last?.digest else { return }
      last = end
    }
  }

  /// The least and the greatest key that begin with some digits.
  private static func keys(
    beginningWith digits: [UInt8]
  ) -> (first: [UInt8], last: [UInt8])? {
    guard (1...32).contains(digits.count) else { return nil }
    let missing = 32 - digits.count
    let first = Hexadecimal.decode(digits + [UInt8](repeating: UInt8(ascii: "0"), count: missing))
    let last = Hexadecimal.decode(digits + [UInt8](repeating: UInt8(ascii: "f"), count: missing))
    guard let first, let last else { return nil }
    return (first, last)
  }
}

extension Connection {
  /// The renditions of an asset, in the order of stages and names.
  fileprivate func renditions(of id: AssetID) throws(CatalogError) -> [RenditionRecord] {
    try all(
      AssetQuery.renditions + " WHERE job.asset = ? ORDER BY stage.position, rendition.name", id
    ) { (row) throws(CatalogError) in try row.rendition(1) }
  }

  /// The assets of a page with their renditions.
  fileprivate func assets(
    _ query: String, after last: AssetID?
  ) throws(CatalogError) -> [AssetRecord] {
    var page = try all(
      "\(query) AND asset.id > ? ORDER BY asset.id LIMIT \(CatalogReader.pageSize)",
      SQLValue.blob(last?.bytes ?? [])
    ) { (row) throws(CatalogError) in try row.asset() }
    // One by one: between two assets of the trash there may be all others.
    for index in page.indices { page[index].renditions = try renditions(of: page[index].id) }
    return page
  }
}
