package import PipelineModel
package import Query
package import Records

extension CatalogReader {
  /// Returns failed jobs grouped by stage, class and reason, the most frequent first.
  ///
  /// - Parameters:
  ///   - filter: the assets whose jobs count.
  ///   - damaged: as in `AssetQuestion`.
  ///   - limit: the most groups.
  ///   - shown: the most assets of each.
  /// - Returns: `nil` if SQL can't answer the filter.
  package func failureGroups(
    _ filter: Filter, damaged: Set<AssetID>, limit: Int, shown: Int
  ) throws(CatalogError) -> [FailureGroup]? {
    let condition = AssetQuestion(filter, damaged: damaged).condition
    let isWanted: SQLFragment =
      filter == .everything
      ? "" : " AND asset.id IN (SELECT picture.asset FROM picture WHERE \(condition))"
    return try searching(by: condition) { (connection) throws(CatalogError) in
      let groups = try connection.rows(
        of: """
          SELECT stage.id, stage.name, \(raw: StageHold.failureClass) AS class,
            \(raw: StageHold.reason) AS reason, count(*) AS count
          \(raw: Self.failedJobs)\(isWanted)
          GROUP BY 1, 3, 4 ORDER BY count DESC, 1, 3, 4 LIMIT \(limit)
          """
      ) { row in
        (
          stage: row.int64(0),
          group: FailureGroup(
            stage: row.text(1), failureClass: row.text(2), reason: row.text(3), count: row.int(4),
            assets: [])
        )
      }
      var complete: [FailureGroup] = []
      for (stage, group) in groups {
        var group = group
        group.assets = try connection.rows(
          of: """
            SELECT asset.id \(raw: Self.failedJobs)\(isWanted) AND stage.id = \(stage)
              AND \(raw: StageHold.failureClass) = \(group.failureClass)
              AND \(raw: StageHold.reason) = \(group.reason) LIMIT \(shown)
            """
        ) { (row) throws(CatalogError) in try row.assetID(0) }
        complete.append(group)
      }
      return complete
    }
  }

  /// Returns the assets with a failed job of a stage, those in the trash left out.
  package func failedAssets(ofStage name: String) throws(CatalogError) -> Set<AssetID> {
    try read { (connection) throws(CatalogError) in
      Set(
        try connection.all("SELECT asset.id \(Self.failedJobs) AND stage.name = ?", name) {
          (row) throws(CatalogError) in try row.assetID(0)
        })
    }
  }
}
