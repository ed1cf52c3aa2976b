import PipelineModel
import Records

/// SQL that finds assets without a thumbnail, and why they have none.
enum ThumbnailGapQuery {
  /// The plugin whose stages make thumbnails.
  static let plugin = "thumbnail"

  /// Why a row of `ledger` for a row of `stage` has no result; `NULL` if it has one or will be tried.
  private static let cause = """
    CASE ledger.state
      WHEN 'failed' THEN 'failed'
      WHEN 'ready' THEN CASE
        WHEN stage.held IS NOT NULL OR ledger.class = 'environment' THEN 'unavailable'
        WHEN ledger.class IS NOT NULL THEN 'failed' END
      WHEN 'skipped' THEN CASE
        WHEN ledger.blocked THEN 'blocked'
        WHEN ledger.class = 'permanent' THEN 'excluded'
        WHEN ledger.class = 'transient' THEN 'blocked'
        WHEN ledger.class IS NOT NULL THEN 'unavailable'
        WHEN ledger.seconds = 0 THEN 'unsupported'
        ELSE 'empty' END
    END
    """

  /// Whether an asset has no picture of any stage that could be shown instead; a sheet of a film's
  /// frames could not.
  private static func hasNoPicture(_ asset: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM \(AssetQuery.renditionTables)
      WHERE job.asset = \(asset) AND rendition.media_type GLOB 'image/*'
        AND rendition.made_from IS NOT 'sprites')
    """
  }

  /// The gap of an asset as `Statement.thumbnailGap(_:)` reads it; `NULL` if it has a thumbnail, or may
  /// get one.
  static func gap(of asset: String) -> String {
    gaps("json_array(\(cause), stage.name, \(StageHold.reason))", of: asset)
  }

  /// The same as an object, with its keys in order.
  static func object(of asset: String) -> String {
    let object = """
      '{"cause":"' || \(cause) || '","reason":' || json_quote(\(StageHold.reason))
        || ',"stage":' || json_quote(stage.name) || '}'
      """
    return gaps(object, of: asset)
  }

  /// Whether no stage may still make a thumbnail of an asset.
  private static func isSettled(_ asset: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM job CROSS JOIN stage
        ON stage.id = job.stage AND stage.active = 1 AND stage.plugin = '\(plugin)'
      CROSS JOIN ledger ON ledger.id = job.ledger
      WHERE job.asset = \(asset) AND ledger.state IN ('waiting', 'ready', 'running')
        AND \(cause) IS NULL)
    """
  }

  private static func isMissing(of asset: String) -> String {
    "\(hasNoPicture(asset)) AND \(isSettled(asset))"
  }

  /// At most one gap of an asset.
  ///
  /// Most assets have results of all stages. One look at their states takes a ninth of the time of the rest, which
  /// makes a table to sort in for each asset: a list of a million took 9 s longer.
  private static func gaps(_ columns: String, of asset: String) -> String {
    """
    CASE WHEN EXISTS (SELECT 1 FROM job CROSS JOIN ledger ON ledger.id = job.ledger
      WHERE job.asset = \(asset) AND ledger.state <> 'done')
    THEN (SELECT \(columns) FROM job CROSS JOIN stage
        ON stage.id = job.stage AND stage.active = 1 AND stage.plugin = '\(plugin)'
      CROSS JOIN ledger ON ledger.id = job.ledger
      WHERE job.asset = \(asset) AND \(cause) IS NOT NULL AND \(isMissing(of: asset))
      ORDER BY stage.position LIMIT 1)
    END
    """
  }

  /// The rows of `ledger` that may have a cause, as common table expressions.
  ///
  /// Rows of former fingerprints only while a change of stages is under way, as jobs have some then. A row
  /// that waits for another attempt has the time of that, so other ready rows are read only if a
  /// stage is held. Two searches, because SQLite would search for the fingerprint alone in one with `OR`.
  private static let ended = """
    asked AS MATERIALIZED (
      SELECT id FROM fingerprint
      WHERE id IN (SELECT fingerprint FROM stage WHERE active = 1 AND plugin = '\(plugin)')
        OR EXISTS (SELECT 1 FROM setting WHERE key = '\(Setting.progress)')
    ), ended AS (
      SELECT ledger.id FROM asked CROSS JOIN ledger INDEXED BY ledger_claim
        ON ledger.fingerprint = asked.id AND ledger.state IN ('failed', 'skipped')
      UNION ALL
      SELECT ledger.id FROM asked CROSS JOIN ledger INDEXED BY ledger_claim
        ON ledger.fingerprint = asked.id AND ledger.state = 'ready'
          AND ledger.not_before > iif(EXISTS (SELECT 1 FROM stage
            WHERE active = 1 AND plugin = '\(plugin)' AND held IS NOT NULL), -1, 0)
    )
    """

  /// The assets with a gap.
  static let assets = """
    WITH \(ended)
    SELECT due.asset FROM ended CROSS JOIN ledger ON ledger.id = ended.id
      CROSS JOIN job AS due ON due.ledger = ledger.id
      CROSS JOIN stage
        ON stage.id = due.stage AND stage.active = 1 AND stage.plugin = '\(plugin)'
    WHERE \(cause) IS NOT NULL AND \(isMissing(of: "due.asset"))
    """

  /// Counts the assets outside the trash with a gap, by cause and by type or reason. One more row, without a
  /// cause, has how many rows of the ledger were read, at most as many as its parameter says.
  static func counts(_ dialect: SQLDialect) -> String {
    // One gap of an asset counts, of the first stage. SQLite's `min` takes the other columns from the row that
    // has the minimum: sqlite.org/lang_select.html#bareagg.
    let (choice, end) =
      switch dialect {
      case .sqlite: ("asset.id AS asset, min(gap.position)", "GROUP BY asset.id")
      case .postgreSQL:
        (
          "DISTINCT ON (asset.id) asset.id AS asset, gap.position",
          "ORDER BY asset.id, gap.position"
        )
      }
    return """
      WITH \(ended), gap AS MATERIALIZED (
        SELECT stage.id AS stage, stage.position AS position, ledger.id AS ledger,
          \(cause) AS cause, \(StageHold.reason) AS reason
        FROM ended CROSS JOIN ledger ON ledger.id = ended.id
          CROSS JOIN stage ON stage.fingerprint = ledger.fingerprint
            AND stage.active = 1 AND stage.plugin = '\(plugin)'
        WHERE \(cause) IS NOT NULL
        LIMIT ?
      ), found AS MATERIALIZED (
        SELECT \(choice), gap.cause AS cause,
          iif(gap.cause = 'unavailable', gap.reason, NULL) AS reason
        FROM gap CROSS JOIN job ON job.ledger = gap.ledger AND job.stage = gap.stage
          CROSS JOIN asset ON asset.id = job.asset
        WHERE asset.trashed_at IS NULL AND \(isMissing(of: "asset.id"))
        \(end)
      )
      SELECT cause, reason,
        iif(cause IN ('unsupported', 'excluded'), (SELECT term.text FROM picture
          CROSS JOIN term ON term.id = picture.type WHERE picture.asset = found.asset), NULL) AS type,
        count(*) AS assets
      FROM found GROUP BY cause, reason, type
      UNION ALL SELECT NULL, NULL, NULL, count(*) FROM gap
      ORDER BY assets DESC, cause NULLS FIRST, reason NULLS FIRST, type NULLS FIRST
      """
  }
}

extension Connection {
  /// Counts the assets without a thumbnail.
  ///
  /// - Parameter most: how many rows of the ledger without a result are read at most, so that the
  ///   time does not grow with the library.
  func thumbnailGaps(most: Int = 10_000) throws(CatalogError) -> ThumbnailGapCounts {
    var counts = ThumbnailGapCounts()
    try each(ThumbnailGapQuery.counts(dialect), most + 1) { (row) throws(CatalogError) in
      // Also if none of those that were read is an asset with a gap.
      guard !row.isNull(0) else {
        counts.isPartial = row.int(3) > most
        return
      }
      counts.groups.append(
        .init(
          cause: try row.value(0, as: ThumbnailGap.Cause.self),
          mediaType: row.optional(2, row.text),
          reason: row.optional(1, row.text), assets: row.int(3)))
    }
    return counts
  }
}

extension Statement {
  /// Reads a column of `ThumbnailGapQuery.gap`.
  func thumbnailGap(_ column: Int) throws(CatalogError) -> ThumbnailGap? {
    guard let parts = try optionalJSON(column)?.array, parts.count == 3,
      let cause = parts[0].string.flatMap({ ThumbnailGap.Cause(rawValue: $0) }),
      let stage = parts[1].string, let reason = parts[2].string
    else { return nil }
    return ThumbnailGap(cause: cause, stage: stage, reason: reason)
  }
}
