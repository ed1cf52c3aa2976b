package import PipelineModel
package import Query
package import Records

extension CatalogReader {
  /// Counts the assets that a filter finds by what they have in common; `nil` stands for no value.
  ///
  /// - Parameter damaged: as in `AssetQuestion`.
  /// - Returns: `nil` if SQL can't answer it, nor group by the exact time, which only facts have.
  package func groups(
    _ filter: Filter, by grouping: Grouping, damaged: Set<AssetID> = []
  ) throws(CatalogError) -> [String?: Int]? {
    let condition = AssetQuestion(filter, damaged: damaged).condition
    return try searching(by: condition) { (_) throws(CatalogError) in
      try groups(by: grouping, where: condition)
    } ?? nil
  }

  /// Counts the assets, those in the trash included, by the values that they have of a field.
  ///
  /// - Returns: `nil` if SQL can't answer it.
  package func values(of field: TextField) throws(CatalogError) -> [String: Int]? {
    let counts: [String?: Int]?
    if field.isList {
      counts = try searching(by: "TRUE") { (_) throws(CatalogError) in
        try listed(in: field.table, where: nil)
      }
    } else {
      counts = try groups(.known(.text(field)), by: .field(.text(field)))
    }
    return counts?.reduce(into: [:]) { values, group in
      if let value = group.key { values[value] = group.value }
    }
  }

  private func groups(
    by grouping: Grouping, where condition: SQLFragment
  ) throws(CatalogError) -> [String?: Int]? {
    switch grouping {
    case .field(.time(.taken)): return nil
    case .date(_, let characters):
      let day = "picture.taken / \(Self.day) - iif(picture.taken % \(Self.day) < 0, 1, 0)"
      return try groups(by: day, where: condition) { row in
        String(CalendarDay.text(row.int64(0)).prefix(characters))
      }
    case .folder:
      // What is left without the characters behind the last slash.
      let folder = "rtrim(picture.path, replace(picture.path, '/', ''))"
      return try groups(by: folder, where: condition) { Grouping.folder(of: $0.text(0)) }
    case .field(.text(let field)) where field.isList:
      return try groups(byListIn: field.table, where: condition)
    case .field(.text(.source)), .field(.text(.type)), .field(.text(.camera)), .field(.text(.lens)):
      return try termGroups(by: "picture.\(grouping.name)", where: condition)
    case .field(.text(let field)):
      let text = AssetQuestion.expressions(of: .text(field)).last ?? "NULL"
      return try groups(by: text, where: condition) { $0.text(0) }
    case .field(.number(let field)):
      return try groups(by: "picture.\(field)", where: condition) { row in
        AssetValues.text(row.double(0))
      }
    case .field(.time(let field)):
      return try groups(by: "picture.\(field)", where: condition) { $0.timestamp(0).rfc3339 }
    }
  }

  /// Microseconds.
  private static let day = 86_400_000_000

  /// - Parameter key: turns the value in the first column, which is not `NULL`, into a group's name.
  private func groups(
    by value: String, where condition: SQLFragment, key: (Statement) -> String?
  ) throws(CatalogError) -> [String?: Int] {
    try counts(
      "SELECT \(raw: value), count(*) FROM picture WHERE \(condition) GROUP BY 1", key: key)
  }

  /// Counts by the rows of `term`, whose texts are read once for each group.
  private func termGroups(
    by column: String, where condition: SQLFragment
  ) throws(CatalogError) -> [String?: Int] {
    try counts(
      """
      SELECT (SELECT term.text FROM term WHERE term.id = grouped.term), grouped.count FROM (
        SELECT \(raw: column) AS term, count(*) AS count FROM picture WHERE \(condition) GROUP BY 1) AS grouped
      """
    ) { $0.text(0) }
  }

  /// Counts by the values of a list, of which an asset may have several.
  private func groups(
    byListIn table: String, where condition: SQLFragment
  ) throws(CatalogError) -> [String?: Int] {
    try read { (_) throws(CatalogError) in
      let listed = try listed(in: table, where: condition)
      let unlisted = try counts(
        """
        SELECT NULL, count(*) FROM picture WHERE \(condition)
          AND NOT EXISTS (SELECT 1 FROM \(raw: table) WHERE picture = picture.number)
        """
      ) { _ in nil }
      return listed.merging(unlisted.filter { $0.value > 0 }) { $1 }
    }
  }

  /// Counts by the values of a list, without the assets that have none.
  ///
  /// - Parameter condition: which assets count; `nil` for all, of whom an index tells.
  private func listed(
    in table: String, where condition: SQLFragment?
  ) throws(CatalogError) -> [String?: Int] {
    let choice: SQLFragment =
      condition.map { "WHERE picture IN (SELECT number FROM picture WHERE \($0))" } ?? ""
    return try counts(
      """
      SELECT term.text, count FROM (
        SELECT term, count(*) AS count FROM \(raw: table) \(choice) GROUP BY term
      ) AS list CROSS JOIN term ON term.id = list.term
      """
    ) { $0.text(0) }
  }

  private func counts(
    _ statement: SQLFragment, key: (Statement) -> String?
  ) throws(CatalogError) -> [String?: Int] {
    try read { (connection) throws(CatalogError) in
      let rows = try connection.rows(of: statement) { row in
        (row.isNull(0) ? nil : key(row), row.int(1))
      }
      return rows.reduce(into: [:]) { $0[$1.0, default: 0] += $1.1 }
    }
  }
}
