import PipelineModel
import Records

/// What a table has: how many rows, and a digest of them.
struct TableContent: Equatable {
  let rows: Int
  let digest: Digest

  /// The settings that are of one catalog only: its stages' generation, and what is left to do for its bytes.
  static let ownSettings: Set<String> = [Setting.generation, Setting.lostRenditions]

  /// Reads all tables that move, in the caller's transaction.
  ///
  /// - Parameters:
  ///   - isPlain: whether to take U+0000 for U+FFFD, as PostgreSQL does.
  ///   - progress: called with the number of rows read.
  static func all(
    in connection: Connection, as tables: [CatalogTable], isPlain: Bool,
    progress: (Int) throws(CatalogError) -> Void
  ) throws(CatalogError) -> [String: TableContent] {
    var contents: [String: TableContent] = [:]
    var rows = 0
    for table in tables {
      var checksum = RowChecksum()
      try connection.pages(of: table) { (page) throws(CatalogError) in
        for row in page where !table.isOwn(row) {
          checksum.add(isPlain ? row.map(\.withoutNull) : row)
        }
        rows += page.count
        try progress(rows)
      }
      contents[table.name] = checksum.finish()
    }
    return contents
  }
}

extension CatalogTable {
  /// Whether a row is a setting of one catalog only.
  func isOwn(_ row: CatalogRow) -> Bool {
    key(ofSetting: row).map(TableContent.ownSettings.contains) ?? false
  }

  /// Whether a row says how far renditions were looked for whose bytes were lost.
  func isLostRenditions(_ row: CatalogRow) -> Bool {
    key(ofSetting: row) == Setting.lostRenditions
  }

  private func key(ofSetting row: CatalogRow) -> String? {
    guard name == "setting", let place = columns.firstIndex(where: { $0.name == "key" }),
      case .text(let key) = row[place]
    else { return nil }
    return key
  }
}
