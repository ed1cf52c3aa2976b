import PipelineModel

/// The remaining work of a stage, and its average cost so far.
package struct StageForecast: Hashable, Sendable {
  /// The number of rows without a result under the stage's current fingerprint.
  package var due: Int
  /// Average seconds per row, including results without work; `nil` without history.
  package var seconds: Double?
  /// Average bytes of renditions per row; `nil` without history.
  package var bytes: Double?

  /// Creates a forecast; omit the averages for a stage without history.
  package init(due: Int, seconds: Double? = nil, bytes: Double? = nil) {
    self.due = due
    self.seconds = seconds
    self.bytes = bytes
  }
}

extension CatalogReader {
  /// The number of newest ended rows to average.
  private static let sample = 1000

  /// The newest ended rows of a stage, one index search per state, so that no other rows are read.
  private static let newest: String = {
    let each = ["done", "skipped", "failed"].map { state in
      """
      SELECT * FROM (SELECT id FROM ledger INDEXED BY ledger_claim
        WHERE fingerprint = (SELECT fingerprint FROM stage WHERE name = ?1)
          AND state = '\(state)' AND not_before = 0 ORDER BY id DESC LIMIT \(sample))
      """
    }
    let all = each.joined(separator: " UNION ALL ")
    return "SELECT id FROM (\(all)) ORDER BY id DESC LIMIT \(sample)"
  }()

  /// Forecasts a stage as configured now, even if the ledger does not know it yet.
  ///
  /// The history is that of the stage with this name, with its last options.
  package func forecast(_ stage: StageDefinition) throws(CatalogError) -> StageForecast {
    try read { (connection) throws(CatalogError) in
      let due = try connection.first(
        """
        SELECT iif(?1, (SELECT count(*) FROM asset WHERE trashed_at IS NULL),
            (SELECT count(*) FROM original))
          - (SELECT count(*) FROM ledger INDEXED BY ledger_claim
              WHERE fingerprint = (SELECT id FROM fingerprint WHERE value = ?2)
                AND state IN ('done', 'skipped', 'failed'))
        """, stage.isAssetScoped, stage.fingerprint
      ) { $0.int(0) }
      return try connection.first(
        """
        SELECT avg(coalesce(seconds, 0)), avg(bytes) FROM (
          SELECT ledger.seconds, (SELECT coalesce(sum(rendition.bytes), 0) FROM rendition
              WHERE rendition.ledger = ledger.id) AS bytes
          FROM (\(Self.newest)) AS newest CROSS JOIN ledger ON ledger.id = newest.id)
        """, stage.name
      ) { row in
        StageForecast(
          due: max(0, due ?? 0), seconds: row.optional(0, row.double),
          bytes: row.optional(1, row.double))
      } ?? StageForecast(due: max(0, due ?? 0))
    }
  }
}
