import PipelineModel

/// SQL that reads assets with their renditions.
enum AssetQuery {
  /// All assets with the columns of `Statement.asset()`; conditions and an order may follow.
  static let assets = columns + " WHERE true"

  /// The same for assets in the trash.
  static let trashedAssets = columns + " WHERE asset.trashed_at IS NOT NULL"

  private static let columns = """
    SELECT asset.id, asset.digest, original.size, asset.name, source.path, asset.path,
      asset.modified, asset.imported_at, asset.supersedes, asset_state.state, \(identity),
      asset.trashed_at, \(skipped)
    FROM \(tables)
    """

  /// The facts of the `identify` stage.
  static let identity = """
    (SELECT coalesce(ledger.facts, previous.facts)
      FROM job CROSS JOIN stage
          ON stage.id = job.stage AND stage.active = 1 AND stage.plugin = 'identify'
        CROSS JOIN ledger ON ledger.id = job.ledger
        LEFT JOIN ledger AS previous ON previous.id = job.previous_ledger
      WHERE job.asset = asset.id ORDER BY stage.position LIMIT 1)
    """

  /// How many stages don't work on such files.
  private static let skipped = """
    (SELECT count(*) FROM job CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
        CROSS JOIN ledger ON ledger.id = job.ledger AND ledger.state = 'skipped'
      WHERE job.asset = asset.id)
    """

  static let tables = """
    asset CROSS JOIN original ON original.digest = asset.digest
      CROSS JOIN source ON source.id = asset.source
      CROSS JOIN asset_state ON asset_state.id = asset.id
    """

  /// An asset's key and the columns of `Statement.rendition(_:)`; conditions may follow.
  static let renditions = """
    SELECT job.asset, rendition.id, stage.name, rendition.name, rendition.media_type,
      rendition.width, rendition.height, rendition.bytes, rendition.digest, rendition.made_from,
      rendition.path, rendition.ledger <> job.ledger
    FROM \(renditionTables)
    """

  static let renditionTables = """
    job CROSS JOIN stage ON stage.id = job.stage AND stage.active = 1
      CROSS JOIN rendition ON rendition.ledger IN (job.ledger, job.previous_ledger)
    """
}

extension Statement {
  /// Reads an asset without renditions from a row of `AssetQuery.assets`.
  func asset() throws(CatalogError) -> AssetRecord {
    AssetRecord(
      id: try assetID(0), digest: try digest(1), size: int(2), name: path(3), source: path(4),
      path: path(5), modified: int64(6), importedAt: timestamp(7),
      supersedes: try optionalAssetID(8), state: try value(9, as: AssetRecord.State.self),
      identity: try optionalJSON(10), trashedAt: optional(11, timestamp),
      skipped: int(12), renditions: [])
  }

  /// Reads a rendition from the columns starting at `first`.
  func rendition(_ first: Int) throws(CatalogError) -> RenditionRecord {
    RenditionRecord(
      id: int64(first), stage: text(first + 1), name: text(first + 2),
      mediaType: text(first + 3), width: int(first + 4), height: int(first + 5),
      bytes: int(first + 6), digest: try digest(first + 7), from: optional(first + 8, text),
      path: optional(first + 9, text), isStale: bool(first + 10))
  }
}
