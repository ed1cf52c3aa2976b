package import Records

/// Copies all that a catalog has into a new one, with the same keys and numbers, and compares the two.
///
/// Each table is one transaction. Nothing of the new catalog is of use before all is done, so a copy that was interrupted
/// begins again.
package final class CatalogCopy {
  package struct Result: Sendable {
    package var rows = 0
    package var assets = 0
    /// How many renditions were copied with their bytes.
    package var renditions = 0
    package var renditionBytes = 0
    /// How many renditions had lost their bytes, or had others: the next run makes them again.
    package var lost = 0

    package init() {}
  }

  /// How far it is.
  package enum Step: Sendable {
    case copying(Int, of: Int)
    case renditions(Int, of: Int)
    case comparing(Int, of: Int)
  }

  let source: CatalogSource
  private let draft: Catalog
  private let isStopped: () -> Bool
  private let progress: (Step) -> Void
  var result = Result()

  /// - Parameters:
  ///   - draft: a new catalog, which becomes the copy; the caller finishes it.
  ///   - isStopped: whether to end with an error of code `interrupted`; asked often.
  package init(
    from source: CatalogSource, to draft: Catalog, isStopped: @escaping () -> Bool,
    progress: @escaping (Step) -> Void
  ) {
    self.source = source
    self.draft = draft
    self.isStopped = isStopped
    self.progress = progress
  }

  /// Copies, and compares.
  package func run() throws(CatalogError) -> Result {
    try draft.access.sync { (writer) throws(CatalogError) in try copy(to: writer.connection) }
    return result
  }

  private func copy(to target: Connection) throws(CatalogError) {
    let total = try source.connection.movableRows().reduce(0) { $0 + $1.rows }
    let tables = try CatalogTable.all(in: source.connection)
    let targets = try zip(tables, CatalogTable.all(in: target)).map {
      (pair) throws(CatalogError) in try pair.1.ordered(as: pair.0, in: target)
    }
    let references = try target.suspendReferences()
    let isPlain = target.dialect == .postgreSQL
    // Between two pages of a table, the caller that is told of the progress may be slow.
    if isPlain { try target.executeScript("SET idle_in_transaction_session_timeout = 0") }
    let terms = try isPlain ? source.connection.mergedTerms() : [:]
    var contents: [String: TableContent] = [:]
    try source.connection.transaction(.reading) { () throws(CatalogError) in
      for (from, to) in zip(tables, targets) {
        contents[from.name] = try target.transaction { () throws(CatalogError) in
          try copy(from, to, target, total) { row in
            isPlain ? row.plain(of: from, terms) : row
          }
        }
      }
    }
    try copyNumbers(of: tables, to: target)
    try copyRenditions(to: target)
    try target.restoreReferences(references)
    try compare(contents, with: target, targets, total)
    if result.lost > 0 {
      // The next run looks for renditions without bytes.
      try target.transaction { () throws(CatalogError) in
        try target.execute(Setting.write, Setting.lostRenditions, "0")
      }
    }
  }

  /// Copies the rows of a table; returns what they are in the copy.
  private func copy(
    _ from: CatalogTable, _ to: CatalogTable, _ target: Connection, _ total: Int,
    _ adapt: (CatalogRow) -> CatalogRow
  ) throws(CatalogError) -> TableContent {
    // What every new catalog has.
    try target.execute("DELETE FROM \(to.name)")
    var checksum = RowChecksum()
    try source.connection.pages(of: from) { (page) throws(CatalogError) in
      var rows: [CatalogRow] = []
      for row in page.map(adapt) {
        let isOwn = from.isOwn(row)
        if !isOwn { checksum.add(row) }
        if !isOwn || from.isLostRenditions(row) { rows.append(row) }
      }
      try target.insert(rows, into: to)
      result.rows += page.count
      if from.name == "asset" { result.assets += page.count }
      progress(.copying(result.rows, of: total))
      try requireNotStopped()
    }
    return checksum.finish()
  }

  private func compare(
    _ contents: [String: TableContent], with target: Connection, _ tables: [CatalogTable],
    _ total: Int
  ) throws(CatalogError) {
    let found = try target.transaction(.reading) { () throws(CatalogError) in
      try TableContent.all(in: target, as: tables, isPlain: false) {
        (rows) throws(CatalogError) in
        progress(.comparing(rows, of: total))
        try requireNotStopped()
      }
    }
    let different = tables.map(\.name).filter { found[$0] != contents[$0] }
    guard different.isEmpty else {
      throw CatalogError(
        .database,
        "The copy of the catalog “\(source.place.name)” differs from it in \(different.joined(separator: ", ")), "
          + "so nothing was moved.", path: source.place.name)
    }
  }

  func reportRenditions(of total: Int) { progress(.renditions(result.renditions, of: total)) }

  func requireNotStopped() throws(CatalogError) {
    guard isStopped() else { return }
    throw CatalogError(
      .interrupted, "The move was stopped. The catalog “\(source.place.name)” is where it was.",
      path: source.place.name)
  }
}

extension CatalogRow {
  /// The row as PostgreSQL can store it.
  ///
  /// - Parameter terms: the terms that would have the text of another one.
  fileprivate func plain(of table: CatalogTable, _ terms: [Int64: String]) -> CatalogRow {
    var row = map(\.withoutNull)
    guard table.name == "term", !terms.isEmpty else { return row }
    let places = ["id", "text"].compactMap { name in
      table.columns.firstIndex { $0.name == name }
    }
    if places.count == 2, case .integer(let id) = row[places[0]], let text = terms[id] {
      row[places[1]] = .text(text)
    }
    return row
  }
}
