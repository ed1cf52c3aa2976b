package import PipelineModel
package import Query
package import Records

extension CatalogReader {
  /// Calls a body for each asset as `assets` does, with the values that a filter asks for.
  ///
  /// - Parameters:
  ///   - first: the key after which to begin.
  ///   - withMetadata: whether to read those from metadata, which are large.
  package func assetValues(
    after first: AssetID?, withMetadata: Bool, _ body: (AssetID, AssetValues) throws -> Void
  ) throws {
    let query = AssetQuery.values(withMetadata: withMetadata)
    var last = first
    while true {
      let page = try read { (connection) throws(CatalogError) in
        try connection.all(
          "\(query) AND asset.id > ? ORDER BY asset.id LIMIT \(Self.valuesPageSize)",
          SQLValue.blob(last?.bytes ?? [])
        ) { (row) throws(CatalogError) in (try row.assetID(0), try row.assetValues()) }
      }
      for (id, values) in page { try body(id, values) }
      guard let end = page.last?.0 else { return }
      last = end
    }
  }

  /// Returns the number of assets, those in the trash included.
  package func assetCount() throws(CatalogError) -> Int {
    try read { (connection) throws(CatalogError) in
      try connection.first("SELECT count(*) FROM asset") { $0.int(0) } ?? 0
    }
  }

  /// The values of an asset; `nil` if there is none with this key.
  package func assetValues(_ id: AssetID) throws(CatalogError) -> AssetValues? {
    try assetValues(of: [id], withMetadata: true).first?.values
  }

  /// The values of some assets, in their order; those that are gone are left out.
  ///
  /// - Parameter withMetadata: whether to read those from metadata, which are large.
  package func assetValues(
    of ids: some Sequence<AssetID>, withMetadata: Bool
  ) throws(CatalogError) -> [(id: AssetID, values: AssetValues)] {
    let query = AssetQuery.values(withMetadata: withMetadata) + " AND asset.id = ?"
    return try read { (connection) throws(CatalogError) in
      var found: [(id: AssetID, values: AssetValues)] = []
      for id in ids {
        let values = try connection.first(query, id) { (row) throws(CatalogError) in
          try row.assetValues()
        }
        if let values { found.append((id, values)) }
      }
      return found
    }
  }

  /// A page with the most metadata that assets may have takes 32 MiB.
  package static let valuesPageSize = 128
}

extension Statement {
  /// Reads a row of `AssetQuery.values` or `AssetQuery.descriptions`.
  func assetValues() throws(CatalogError) -> AssetValues {
    var values = AssetValues()
    values.texts = [
      .id: [try assetID(0).description], .digest: [try digest(1).hex],
    ]
    values.texts[.state] = isNull(9) ? nil : [text(9)]
    for (field, column) in [(TextField.name, 3), (.source, 4), (.path, 5)] {
      let path = path(column)
      values.texts[field] = [path.description]
      if path.utf8 == nil { values.rawPaths[field] = path }
    }
    values.numbers[.size] = double(2)
    values.times = [
      .modified: int64(6) / 1000, .imported: int64(7), .trashed: optional(8, int64),
    ].compactMapValues(\.self)
    if let flag = Flag(rawValue: text(9)) { values.flags.insert(flag) }
    // Facts that can't be read are as good as none: one asset must not end a search.
    if let facts = try? optionalJSON(10) { values.add(identity: facts) }
    if let facts = try? optionalJSON(11) { values.add(metadata: facts) }
    if let facts = try? optionalJSON(15) { values.add(sidecar: facts) }
    values.add(try annotations(14))
    let member = try group(16)
    let cover = try optionalAssetID(17)
    let isCover = try cover == assetID(0)
    values.add(
      role: member?.role.rawValue, kinds: member?.kindsText ?? "",
      isCover: cover == nil ? nil : isCover)
    if int(12) > 0 { values.flags.insert(.skipped) }
    if bool(13) { values.flags.insert(.damaged) }
    if bool(18) { values.flags.insert(.withoutThumbnail) }
    return values
  }
}
