import PipelineModel
import Query
import Records

/// How far `picture` has a row for each asset, in key order.
///
/// Assets that are added meanwhile get theirs at once.
struct PictureProgress: Equatable {
  var version = PictureRow.version
  /// The last asset with a row, in hexadecimal; empty before the first, `nil` behind all.
  var lastAsset: String?

  static let complete = PictureProgress(lastAsset: nil)

  init(lastAsset: String?) { self.lastAsset = lastAsset }

  /// Parses a setting; anything else means no rows.
  init(_ text: String?) {
    let parts = text?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    let isCurrent = parts.first.map { $0 == "\(PictureRow.version)" } ?? false
    lastAsset = isCurrent ? parts.count > 1 ? String(parts[1]) : nil : ""
  }

  var text: String { "\(version)" + (lastAsset.map { " \($0)" } ?? "") }

  static func read(_ connection: Connection) throws(CatalogError) -> PictureProgress {
    PictureProgress(try connection.first(Setting.read, Setting.pictures) { $0.text(0) })
  }
}

/// A stage whose facts are in the rows.
struct DescribingStage: Equatable {
  var id: Int64
  var plugin: String
}

extension Catalog {
  /// The number of assets whose rows for searches, or whose groups, the next `configure` makes.
  package var assetsToPrepare: Int {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in
        let progress = [
          try PictureProgress.read(connection).lastAsset,
          try connection.first(Setting.read, Setting.groupProgress) { $0.text(0) },
        ]
        guard let last = progress.compactMap(\.self).min() else { return 0 }
        return try connection.first(
          "SELECT count(*) FROM asset WHERE id > ?", CatalogWriter.blob(last)
        ) { $0.int(0) } ?? 0
      }
    }
  }
}

/// Keeping the rows that searches read.
extension CatalogWriter {
  /// Mark assets whose rows no longer follow from their facts. Temporary triggers, so that no
  /// statement can forget it; this is the only connection that writes.
  static let pictureTriggers = """
    CREATE TEMP TRIGGER picture_facts AFTER UPDATE OF facts ON main.ledger BEGIN
        INSERT OR IGNORE INTO outdated SELECT job.asset FROM job JOIN stage ON stage.id = job.stage
          WHERE job.ledger = NEW.id AND \(describes);
        INSERT OR IGNORE INTO outdated SELECT job.asset FROM job JOIN stage ON stage.id = job.stage
          WHERE job.previous_ledger = NEW.id AND \(describes);
      END;
    CREATE TEMP TRIGGER picture_job AFTER UPDATE OF ledger, previous_ledger ON main.job
      WHEN EXISTS (SELECT 1 FROM stage WHERE id = NEW.stage AND \(describes)) BEGIN
        \(mark("NEW.asset", in: "outdated"))
      END;
    CREATE TEMP TRIGGER picture_trash AFTER UPDATE OF trashed_at ON main.asset BEGIN
        UPDATE picture SET trashed = NEW.trashed_at WHERE asset = NEW.id;
      END;
    """

  /// Which stages those are whose facts are in the rows.
  static let describes =
    "active = 1 AND plugin IN (\(PictureRow.plugins.sorted().map { "'\($0)'" }.joined(separator: ", ")))"

  /// The stages whose facts are in the rows, in order.
  func describingStages() throws(CatalogError) -> [DescribingStage] {
    try connection.all(
      "SELECT id, plugin FROM stage WHERE \(Self.describes) ORDER BY position"
    ) { DescribingStage(id: $0.int64(0), plugin: $0.text(1)) }
  }

  /// Adds the row of a new asset, of which nothing is known but where it came from.
  ///
  /// It is the row that `PictureRow` makes of an asset without facts.
  func addPicture(of asset: NewAsset) throws(CatalogError) {
    let texts = [asset.name.description, asset.path.description]
    let (name, path) = (TextFolding.compose(texts[0]), TextFolding.compose(texts[1]))
    let words = texts.flatMap { TextFolding.words(TextFolding.fold($0)) }
    try connection.execute(
      """
      INSERT INTO picture (asset, name, name_folded, path, path_folded, source, words, modified,
        imported, size)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, asset.id, name, PictureRow.folded(name), path, PictureRow.folded(path),
      try term(TextFolding.compose(asset.source.description)), PictureRow.line(of: words),
      asset.modified / 1000, asset.importedAt, Double(asset.size))
  }

  func outdatePicture(of asset: AssetID) throws(CatalogError) {
    try connection.execute(
      "INSERT INTO temp.outdated (asset) VALUES (?) ON CONFLICT DO NOTHING", asset)
  }

  /// Marks a range of assets, whose groups may change, too.
  func outdatePictures(after first: SQLValue, through last: SQLValue) throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO temp.outdated (asset) SELECT id FROM asset WHERE id > ? AND id <= ?
      ON CONFLICT DO NOTHING
      """, first, last)
    // Not if all groups are about to be formed anyway.
    let progress = try connection.first(Setting.read, Setting.groupProgress) { $0.text(0) }
    if progress != "" { try regroup(after: first, through: last) }
  }

  /// Writes the rows of the marked assets anew and clears the marks.
  func updateOutdatedPictures() throws(CatalogError) {
    let limit = CatalogReader.valuesPageSize
    while true {
      let page = try connection.all("SELECT asset FROM temp.outdated LIMIT \(limit)") {
        (row) throws(CatalogError) in try row.assetID(0)
      }
      for asset in page {
        let values = try connection.first(AssetQuery.descriptions + " AND asset.id = ?", asset) {
          (row) throws(CatalogError) in try row.assetValues()
        }
        // One that was deleted has no row.
        guard let values else { continue }
        try write(PictureRow(asset: asset, values: values))
        try updateSigns(of: asset, values)
      }
      if page.count < limit {
        if !page.isEmpty { try connection.execute("DELETE FROM temp.outdated") }
        return
      }
      for asset in page {
        try connection.execute("DELETE FROM temp.outdated WHERE asset = ?", asset)
      }
    }
  }

  /// Makes all rows anew, page by page; until then, searches read facts.
  func makePicturesAnew() throws(CatalogError) {
    try connection.execute(
      Setting.write, Setting.pictures, PictureProgress(lastAsset: "").text)
  }

  /// Makes the rows of the next assets in the caller's transaction.
  ///
  /// - Returns: whether more may follow.
  func addNextPictures() throws(CatalogError) -> Bool {
    var progress = try PictureProgress.read(connection)
    guard let last = progress.lastAsset else { return false }
    progress.lastAsset = try lastKey("asset", "id", after: last)
    if let end = progress.lastAsset {
      try outdatePictures(after: Self.blob(last), through: Self.blob(end))
    }
    try connection.execute(Setting.write, Setting.pictures, progress.text)
    return progress != .complete
  }

  private func write(_ row: PictureRow) throws(CatalogError) {
    let parameters = try row.parameters { (text) throws(CatalogError) in try term(text) }
    try connection.execute(PictureRow.insert, values: parameters)
    for list in TextField.allCases where list.isList {
      try connection.execute(
        "DELETE FROM \(list.table) WHERE picture = (SELECT number FROM picture WHERE asset = ?)",
        row.asset)
      for (position, text) in row.list(list).enumerated() {
        try connection.execute(
          """
          INSERT INTO \(list.table) (picture, position, term)
          SELECT number, ?, ? FROM picture WHERE asset = ?
          """, position, try term(text), row.asset)
      }
    }
  }

  /// The row of a text in `term`, inserted on first use.
  private func term(_ text: String) throws(CatalogError) -> Int64 {
    // Swift takes texts for equal that differ in how characters are composed; these are composed.
    if let id = terms[text] { return id }
    let known = try connection.first(
      connection.text(
        sqlite: "SELECT id FROM term WHERE text = ?",
        postgreSQL: "SELECT id FROM term WHERE pipeline_digest(text) = pipeline_digest(?)"), text
    ) { $0.int64(0) }
    if let known {
      terms[text] = known
      return known
    }
    let id = try connection.insert(
      "INSERT INTO term (text, folded) VALUES (?, ?)", values: [text, TextFolding.fold(text)])
    terms[text] = id
    return id
  }
}
