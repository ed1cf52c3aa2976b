import Glibc
package import PipelineModel
import Query
package import Records

extension AssetSearch {
  /// Returns an outline of the assets found, however many; they are not held in memory.
  ///
  /// - Parameter damaged: assets that `verify` found damaged.
  package func outline(
    in catalog: CatalogReader, damaged: Set<AssetID>
  ) throws -> AssetOutline {
    let outline = AssetOutline(keepsDays: order.first?.field == .time(.taken))
    let question = AssetQuestion(filter, order: order, damaged: damaged)
    if let found = try catalog.outline(of: question, outline) { return found }
    var slow = outline
    try run(in: catalog, damaged: damaged, need: .values) { id, values in
      try slow.append(
        width: values?.numbers[.width], height: values?.numbers[.height],
        taken: values?.times[.taken]
      ) { id }
    }
    return slow
  }
}

extension CatalogReader {
  /// Adds what a question finds to an outline; `nil` if SQL can't answer it.
  fileprivate func outline(
    of question: AssetQuestion, _ empty: AssetOutline
  ) throws(CatalogError) -> AssetOutline? {
    try searching(by: question.condition) { (connection) throws(CatalogError) in
      var outline = empty
      _ = try connection.rows(of: question, in: Self.proportions) { (row) throws(CatalogError) in
        try outline.append(
          width: row.optional(1, row.double), height: row.optional(2, row.double),
          taken: row.optional(3, row.int64)
        ) { () throws(CatalogError) in try row.assetID(0) }
      }
      return outline
    }
  }

  private static func proportions(of found: SQLFragment) -> SQLFragment {
    """
    SELECT found.asset, picture.width, picture.height, picture.taken FROM (\(found)) AS found
      CROSS JOIN picture ON picture.number = found.number
    """
  }
}
