package import PipelineModel
package import Query
package import Records

extension CatalogReader {
  /// Runs a body if searches can be answered in SQL; otherwise returns `nil`.
  ///
  /// They can't until a run has prepared a catalog from an older version, or one whose stages changed;
  /// and SQLite does not take every condition.
  func searching<Value>(
    by condition: SQLFragment, _ body: (Connection) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value? {
    try read { (connection) throws(CatalogError) in
      guard !condition.isTooComplex, try PictureProgress.read(connection) == .complete else {
        return nil
      }
      return try body(connection)
    }
  }

  /// Returns the keys of the assets that a question finds, in its order; `nil` if SQL can't answer it.
  package func find(_ question: AssetQuestion) throws(CatalogError) -> [AssetID]? {
    try searching(by: question.condition) { (connection) throws(CatalogError) in
      try connection.rows(of: question) { (row) throws(CatalogError) in try row.assetID(0) }
    }
  }

  /// Returns what an asset sorts by, from its row for searches; `nil` if that does not tell, because there is
  /// no row yet, or one of the criteria is a text.
  func sortValues(
    of asset: AssetID, _ order: [SortCriterion]
  ) throws(CatalogError) -> [SortValue]? {
    var columns: [String] = []
    for criterion in order {
      if case .text = criterion.field { return nil }
      columns += AssetQuestion.expressions(of: criterion.field)
    }
    let row: SQLFragment =
      "SELECT \(raw: columns.joined(separator: ", ")) FROM picture WHERE asset = \(asset)"
    return try searching(by: "TRUE") { (connection) throws(CatalogError) in
      try connection.rows(of: row) { (row) throws(CatalogError) in
        order.enumerated().map { column, criterion -> SortValue in
          if row.isNull(column) { return .none }
          return if case .time = criterion.field {
            .time(row.int64(column))
          } else {
            .number(row.double(column))
          }
        }
      }.first
    } ?? nil
  }

  /// Returns the number of assets that a filter finds; `nil` if SQL can't answer it.
  ///
  /// - Parameter damaged: as in `AssetQuestion`.
  package func count(
    _ filter: Filter, damaged: Set<AssetID> = []
  ) throws(CatalogError) -> Int? {
    let condition = AssetQuestion(filter, damaged: damaged).condition
    return try searching(by: condition) { (connection) throws(CatalogError) in
      try connection.rows(of: "SELECT count(*) FROM picture WHERE \(condition)") { $0.int(0) }[0]
    }
  }

  /// Returns the number of assets that a question finds after its start; `nil` if SQL can't answer it.
  package func count(of question: AssetQuestion) throws(CatalogError) -> Int? {
    try searching(by: question.condition) { (connection) throws(CatalogError) in
      var count = 0
      for statement in question.statements {
        count += try connection.rows(of: "SELECT count(*) FROM (\(statement))") { $0.int(0) }[0]
      }
      return count
    }
  }

  /// Returns the statements of a question, with how SQLite finds their rows; `nil` if SQL can't
  /// answer it.
  package func explain(
    _ question: AssetQuestion
  ) throws(CatalogError) -> [ExplainedStatement]? {
    try searching(by: question.condition) { (connection) throws(CatalogError) in
      var explained: [ExplainedStatement] = []
      for statement in question.statements {
        let statement: SQLFragment =
          "\(statement) LIMIT \(question.limit ?? connection.noLimit) OFFSET \(question.offset)"
        let plan =
          switch connection.dialect {
          case .sqlite:
            try connection.rows(of: "EXPLAIN QUERY PLAN \(statement)") { $0.text(3) }
          case .postgreSQL: try connection.rows(of: "EXPLAIN \(statement)") { $0.text(0) }
          }
        explained.append(
          ExplainedStatement(
            sql: statement.sql, values: statement.values.map(\.sqlValue.literal), plan: plan))
      }
      return explained
    }
  }
}

extension SQLValue {
  /// The value as SQL.
  fileprivate var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): "'\(text.replacing("'", with: "''"))'"
    case .blob(let bytes): "x'\(Hexadecimal.encode(bytes))'"
    }
  }
}

extension Connection {
  /// What stands for no limit: PostgreSQL takes no negative one.
  fileprivate var noLimit: Int {
    switch dialect {
    case .sqlite: -1
    case .postgreSQL: .max
    }
  }

  /// Runs the statements of a question, as far as its limit needs them.
  ///
  /// - Parameters:
  ///   - wrap: makes a statement that is run of one that finds keys and the numbers of rows.
  func rows<Value>(
    of question: AssetQuestion, in wrap: ((SQLFragment) -> SQLFragment)? = nil,
    read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> [Value] {
    var found: [Value] = []
    var offset = question.offset
    let statements = question.statements
    for (index, statement) in statements.enumerated() {
      let room = question.limit.map { $0 - found.count } ?? noLimit
      if room == 0 { break }
      let page = try rows(
        of: wrapped("\(statement) LIMIT \(room) OFFSET \(offset)", in: wrap), read: read)
      found += page
      if offset == 0 || index == statements.count - 1 { continue }
      // The next one leaves out what is left to leave out of this one.
      offset =
        page.isEmpty
        ? offset - (try rows(of: "SELECT count(*) FROM (\(statement))") { $0.int(0) }[0]) : 0
    }
    return found
  }

  /// A statement that selects from what another one finds, in its order.
  private func wrapped(
    _ found: SQLFragment, in wrap: ((SQLFragment) -> SQLFragment)?
  ) -> SQLFragment {
    guard let wrap else { return found }
    switch dialect {
    case .sqlite: return wrap(found)
    case .postgreSQL:
      // SQLite's outermost loop keeps the order; a join of PostgreSQL need not.
      let numbered = wrap(
        "SELECT asset, number, row_number() OVER () AS place FROM (\(found)) AS page")
      return "\(numbered) ORDER BY found.place"
    }
  }

  /// Runs the statement of a question.
  ///
  /// Another name than `all`, which takes plain text: the same would make values of its parts.
  func rows<Value>(
    of fragment: SQLFragment, read: (Statement) throws(CatalogError) -> Value
  ) throws(CatalogError) -> [Value] {
    try withQuestion(fragment.sql) { (statement) throws(CatalogError) in
      try statement.bind(fragment.values)
      var rows: [Value] = []
      while try statement.step() { rows.append(try read(statement)) }
      return rows
    }
  }
}
