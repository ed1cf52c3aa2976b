package import PipelineModel
package import Records

extension CatalogReader {
  /// Returns some assets in their order, those that are gone left out; `nil` if a run has still to prepare
  /// the catalog for searches.
  ///
  /// A few statements for each page, however many assets it has.
  ///
  /// - Parameter withRenditions: whether to read their renditions, too.
  package func foundAssets(
    _ ids: [AssetID], withRenditions: Bool
  ) throws(CatalogError) -> [FoundAsset]? {
    var found: [FoundAsset] = []
    found.reserveCapacity(ids.count)
    for start in stride(from: 0, to: ids.count, by: FoundAssetQuery.largestPage) {
      let page = ids[start..<min(start + FoundAssetQuery.largestPage, ids.count)]
      let isPrepared = try read { (connection) throws(CatalogError) in
        guard try PictureProgress.read(connection) == .complete else { return false }
        found += try connection.foundAssets(page, withRenditions: withRenditions)
        return true
      }
      guard isPrepared else { return nil }
    }
    return found
  }

  /// The most assets of a question that is answered at once.
  package static let mostFoundAtOnce = FoundAssetQuery.largestPage

  /// Returns the assets that a question with a limit of `mostFoundAtOnce` finds, in its order; `nil` if
  /// SQL can't answer it.
  package func foundAssets(
    by question: AssetQuestion, withRenditions: Bool
  ) throws(CatalogError) -> [FoundAsset]? {
    try searching(by: question.condition) { (connection) throws(CatalogError) in
      var page = FoundPage()
      _ = try connection.rows(of: question, in: FoundAssetQuery.assets) {
        (row) throws(CatalogError) in page.append(try connection.foundAsset(row), row.int64(0))
      }
      try connection.complete(&page, withRenditions: withRenditions)
      return page.assets
    }
  }
}

extension CatalogReader {
  /// Returns a fact that is a text of each asset that has it; of the first stage, if several have it.
  ///
  /// - Parameter name: as stages write it, such as `dominantColor`.
  package func textFacts(
    _ name: String, of ids: [AssetID]
  ) throws(CatalogError) -> [AssetID: String] {
    var found: [AssetID: String] = [:]
    for start in stride(from: 0, to: ids.count, by: FoundAssetQuery.largestPage) {
      let page = ids[start..<min(start + FoundAssetQuery.largestPage, ids.count)]
      let statement = FoundAssetQuery.facts(name, of: page)
      try read { (connection) throws(CatalogError) in
        try connection.each(statement.sql, values: statement.values) {
          (row) throws(CatalogError) in
          let id = try row.assetID(0)
          if found[id] == nil { found[id] = row.text(1) }
        }
      }
    }
    return found
  }
}

/// Assets whose rows were read, with where they are in the page.
private struct FoundPage {
  private(set) var assets: [FoundAsset] = []
  /// The place of each row.
  private(set) var rows: [Int64: Int] = [:]

  mutating func append(_ asset: FoundAsset, _ row: Int64) {
    rows[row] = assets.count
    assets.append(asset)
  }

  mutating func add(_ text: String, to list: WritableKeyPath<FoundAsset, [String]>, row: Int64) {
    if let place = rows[row] { assets[place][keyPath: list].append(text) }
  }

  mutating func setRenditions(_ renditions: [AssetID: [RenditionRecord]]) {
    for place in assets.indices { assets[place].renditions = renditions[assets[place].id] ?? [] }
  }
}

/// Texts that many assets have, read once by a connection and then shared.
///
/// No row of `term` or `source` is ever changed or deleted in a catalog; one that is made anew is another
/// file, which gets other connections.
struct SharedTexts {
  /// The most texts of each kind, so that a library with a keyword of its own for each asset takes no more.
  private static let most = 10_000

  private var terms: [Int64: String] = [:]
  private var sources: [Int64: String] = [:]

  mutating func term(
    _ id: Int64, read: () throws(CatalogError) -> String
  ) throws(CatalogError) -> String {
    try Self.text(id, &terms, read)
  }

  mutating func source(
    _ id: Int64, read: () throws(CatalogError) -> String
  ) throws(CatalogError) -> String {
    try Self.text(id, &sources, read)
  }

  private static func text(
    _ id: Int64, _ known: inout [Int64: String], _ read: () throws(CatalogError) -> String
  ) throws(CatalogError) -> String {
    if let text = known[id] { return text }
    let text = try read()
    if known.count >= most { known = [:] }
    known[id] = text
    return text
  }
}

/// SQL for a page of assets; a shorter one is filled up with `NULL`, so that a few statements serve all.
private enum FoundAssetQuery {
  static let largestPage = 128
  /// SQLite makes an index of all values of a list, so a short page has a short list.
  private static let pageSizes = [1, 16, 64, largestPage]

  /// A statement, and the parameters for a page.
  typealias Statement = (sql: String, values: [any SQLBindable])

  static func assets(_ ids: some Collection<AssetID>) -> Statement {
    statement(
      "\(columns) FROM picture CROSS JOIN \(others) WHERE picture.asset IN ", ids, "")
  }

  /// The same of what a statement finds, in its order: it is the outermost loop.
  static func assets(found: SQLFragment) -> SQLFragment {
    """
    \(raw: columns) FROM (\(found)) AS found
      CROSS JOIN picture ON picture.number = found.number CROSS JOIN \(raw: others)
    """
  }

  /// The row and the text of each value of a list, in order.
  static func list(in table: String, of rows: some Collection<Int64>) -> Statement {
    statement(
      "SELECT picture, term FROM \(table) WHERE picture IN ", rows, "ORDER BY picture, position")
  }

  static func renditions(of ids: some Collection<AssetID>) -> Statement {
    statement(
      "\(AssetQuery.renditions) WHERE job.asset IN ", ids,
      "ORDER BY job.asset, stage.position, rendition.name")
  }

  /// A fact of each stage that has it, in the order of stages.
  static func facts(_ name: String, of ids: some Collection<AssetID>) -> Statement {
    let found = statement(
      """
      SELECT job.asset, ledger.facts ->> ?1 FROM job
        CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
        CROSS JOIN ledger ON ledger.id = job.ledger
      WHERE ledger.facts ->> ?1 IS NOT NULL AND job.asset IN
      """, ids, "ORDER BY job.asset, stage.position")
    return (found.sql, [name] + found.values)
  }

  private static let columns = """
    SELECT picture.number, asset.id, asset.digest, asset.name, asset.source, asset.path,
      asset_state.state, picture.type, picture.kind, picture.camera, picture.lens,
      picture.title, picture.caption, picture.taken, picture.imported, picture.modified,
      picture.trashed, picture.size, picture.width, picture.height, picture.iso,
      picture.aperture, picture.exposure, picture.focal, picture.rating, picture.latitude,
      picture.longitude, member.role, frame.cover
    """

  private static let others = """
    asset ON asset.id = picture.asset
      CROSS JOIN asset_state ON asset_state.id = asset.id
      LEFT JOIN member ON member.asset = asset.id
      LEFT JOIN frame ON frame.asset = asset.id
    """

  private static func statement<Value: SQLBindable>(
    _ start: String, _ values: some Collection<Value>, _ end: String
  ) -> Statement {
    let size = pageSizes.first { $0 >= values.count } ?? values.count
    var list: [any SQLBindable] = values.map { $0 }
    list += Array(repeating: SQLValue.null, count: size - list.count)
    return ("\(start) (\(String(repeating: "?,", count: size - 1))?) \(end)", list)
  }
}

extension Connection {
  fileprivate func foundAssets(
    _ ids: ArraySlice<AssetID>, withRenditions: Bool
  ) throws(CatalogError) -> [FoundAsset] {
    var page = FoundPage()
    let assets = FoundAssetQuery.assets(ids)
    try each(assets.sql, values: assets.values) { (row) throws(CatalogError) in
      page.append(try foundAsset(row), row.int64(0))
    }
    try complete(&page, withRenditions: withRenditions)
    let places = Dictionary(
      page.assets.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { $1 })
    return ids.compactMap { id in places[id].map { page.assets[$0] } }
  }

  /// Adds the lists of assets whose rows were read.
  fileprivate func complete(
    _ page: inout FoundPage, withRenditions: Bool
  ) throws(CatalogError) {
    if page.assets.isEmpty { return }
    for (table, property) in [("keyword", \FoundAsset.tags), ("album", \FoundAsset.albums)] {
      let list = FoundAssetQuery.list(in: table, of: page.rows.keys)
      try each(list.sql, values: list.values) { (row) throws(CatalogError) in
        page.add(try term(row.int64(1)), to: property, row: row.int64(0))
      }
    }
    guard withRenditions else { return }
    var renditions: [AssetID: [RenditionRecord]] = [:]
    let statement = FoundAssetQuery.renditions(of: page.assets.map(\.id))
    try each(statement.sql, values: statement.values) { (row) throws(CatalogError) in
      renditions[try row.assetID(0), default: []].append(try row.rendition(1))
    }
    page.setRenditions(renditions)
  }

  fileprivate func foundAsset(_ row: Statement) throws(CatalogError) -> FoundAsset {
    func number(_ column: Int) -> Double? { row.isNull(column) ? nil : row.double(column) }
    func time(_ column: Int) -> Int64? { row.isNull(column) ? nil : row.int64(column) }
    func text(_ column: Int) -> String? { row.isNull(column) ? nil : row.text(column) }
    var asset = FoundAsset(
      id: try row.assetID(1), digest: try row.digest(2), name: row.pathText(3),
      source: try source(row.int64(4)), path: row.pathText(5), state: row.text(6),
      imported: row.int64(14), modified: row.int64(15), size: row.double(17))
    (asset.type, asset.kind) = (try optionalTerm(row, 7), text(8))
    (asset.camera, asset.lens) = (try optionalTerm(row, 9), try optionalTerm(row, 10))
    (asset.title, asset.caption) = (text(11), text(12))
    (asset.taken, asset.trashed) = (time(13), time(16))
    (asset.width, asset.height) = (number(18), number(19))
    (asset.iso, asset.aperture, asset.exposure, asset.focal) =
      (number(20), number(21), number(22), number(23))
    asset.rating = number(24)
    (asset.latitude, asset.longitude) = (number(25), number(26))
    (asset.role, asset.cover) = (text(27), try row.optionalAssetID(28))
    return asset
  }

  private func optionalTerm(
    _ row: Statement, _ column: Int
  ) throws(CatalogError) -> String? {
    row.isNull(column) ? nil : try term(row.int64(column))
  }

  private func term(_ id: Int64) throws(CatalogError) -> String {
    try sharedTexts.term(id) { () throws(CatalogError) in
      try first("SELECT text FROM term WHERE id = ?", id) { $0.text(0) } ?? ""
    }
  }

  private func source(_ id: Int64) throws(CatalogError) -> String {
    try sharedTexts.source(id) { () throws(CatalogError) in
      try first("SELECT path FROM source WHERE id = ?", id) { $0.pathText(0) } ?? ""
    }
  }
}

extension Statement {
  /// A path as `BytePath.description` writes it, without the bytes in between where it is UTF-8.
  fileprivate func pathText(_ column: Int) -> String {
    let path = path(column)
    return path.utf8 ?? path.description
  }
}
