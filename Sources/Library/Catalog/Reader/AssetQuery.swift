import PipelineModel
import Records

/// SQL that reads assets with their renditions.
enum AssetQuery {
  /// All assets with the columns of `Statement.asset()`; conditions and an order may follow.
  static let assets = columns + " WHERE true"

  /// The same for assets in the trash.
  static let trashedAssets = columns + " WHERE asset.trashed_at IS NOT NULL"

  private static let columns = """
    SELECT asset.id, asset.digest, original.size, asset.name, source.path, asset.path,
      asset.modified, asset.imported_at, asset.supersedes, asset_state.state, \(identity),
      asset.trashed_at, \(skipped), \(annotations), \(group), \(burst),
      \(ThumbnailGapQuery.gap(of: "asset.id"))
    FROM \(tables)
    """

  /// Assets with what filters ask for; conditions and an order may follow.
  static func values(withMetadata: Bool) -> String {
    """
    SELECT asset.id, asset.digest, original.size, asset.name, source.path, asset.path,
      asset.modified, asset.imported_at, asset.trashed_at, asset_state.state, \(identity),
      \(withMetadata ? facts(of: "metadata") : "NULL"), \(skipped),
      EXISTS (SELECT 1 FROM \(renditionTables)
        WHERE job.asset = asset.id AND rendition.made_from = 'damaged'), \(annotations),
      \(withMetadata ? sidecarMetadata : "NULL"), \(group), \(burst),
      \(ThumbnailGapQuery.gap(of: "asset.id")) IS NOT NULL
    FROM \(tables) WHERE true
    """
  }

  /// The same without what follows from jobs.
  static let descriptions = """
    SELECT asset.id, asset.digest, original.size, asset.name, source.path, asset.path,
      asset.modified, asset.imported_at, asset.trashed_at, NULL, \(identity),
      \(facts(of: "metadata")), 0, 0, \(annotations), \(sidecarMetadata), NULL, NULL, 0
    FROM asset CROSS JOIN original ON original.digest = asset.digest
      CROSS JOIN source ON source.id = asset.source
    WHERE true
    """

  /// The facts of the `identify` stage.
  static let identity = facts(of: "identify")

  /// The facts of the stage with the plugin `metadata` about the sidecar that counts for an asset.
  private static let sidecarMetadata = facts(
    of: "metadata", asset: "(SELECT sidecar FROM member WHERE member.asset = asset.id)")

  /// An asset's place in its group, as `Statement.group(_:)` reads it; `NULL` if it is in none.
  private static let group = """
    (SELECT json_array(\(Schema.uuid("leader")), kinds, role) FROM member WHERE asset = asset.id)
    """

  /// The cover of the burst that an asset's shot is of; `NULL` if it is of none.
  private static let burst = Schema.burst("cover", of: "asset.id")

  /// The facts of the first stage with a plugin.
  ///
  /// The stage is chosen once for all assets, as choosing it for each costs a tenth of the time: while
  /// a change of stages is under way, an asset without a job of that stage has none.
  private static func facts(of plugin: String, asset: String = "asset.id") -> String {
    """
    (SELECT coalesce(ledger.facts, previous.facts)
      FROM job CROSS JOIN ledger ON ledger.id = job.ledger
        LEFT JOIN ledger AS previous ON previous.id = job.previous_ledger
      WHERE job.asset = \(asset) AND job.stage = (SELECT id FROM stage
        WHERE active = 1 AND plugin = '\(plugin)' ORDER BY position LIMIT 1))
    """
  }

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
      skipped: int(12), annotations: try annotations(13), group: try group(14),
      cover: try optionalAssetID(15), withoutThumbnail: try thumbnailGap(16), renditions: [])
  }

  /// Reads a column of `AssetQuery.group`.
  func group(_ column: Int) throws(CatalogError) -> GroupMember? {
    guard let parts = try optionalJSON(column)?.array, parts.count == 3,
      let leader = parts[0].string.flatMap({ AssetID($0) }), let kinds = parts[1].string,
      let role = parts[2].string.flatMap({ GroupMember.Role(rawValue: $0) })
    else { return nil }
    return GroupMember(leader: leader, kinds: GroupMember.kinds(kinds), role: role)
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

/// An asset as a line of JSON written by SQLite, with the members of `JSONMembers.asset` in key order.
///
/// Decoding values and encoding them again costs several times as much as the list itself.
enum AssetLine {
  /// The key and the line of each asset of a page; `NULL` for a line that SQL can't write.
  ///
  /// Names that are not UTF-8 are copied unchanged.
  static let page = lines("asset.id > ? ORDER BY asset.id LIMIT \(CatalogReader.pageSize)")

  /// The same of one asset.
  static let one = lines("asset.id = ?")

  private static func lines(_ condition: String) -> String {
    """
    WITH page AS MATERIALIZED (
      SELECT asset.id AS id, lower(hex(asset.id)) AS digits, asset.digest AS digest,
        original.size AS size, CAST(asset.name AS TEXT) AS name,
        CAST(source.path AS TEXT) AS source, CAST(asset.path AS TEXT) AS path,
        asset.modified AS modified, asset.imported_at AS imported_at,
        asset.supersedes AS supersedes, asset.trashed_at AS trashed_at, asset_state.state AS state,
        \(AssetQuery.identity) AS facts
      FROM \(AssetQuery.tables)
      WHERE \(condition)
    )
    SELECT id, CASE WHEN modified >= 0 AND imported_at >= 0 AND trashed_at IS NULL
        AND name IS NOT NULL AND source IS NOT NULL AND path IS NOT NULL THEN
      '{"annotations":[' || ifnull((
          SELECT group_concat('{"applies":' || iif(applies, 'true', 'false') || ',"property":"'
              || property || '","text":' || json_quote(text) || '}')
            FROM (SELECT applies, property, text FROM annotation WHERE asset = page.id ORDER BY property, text)), '')
        || '],"burst":' || ifnull(\(burst), 'null') || ',"capturedAt":' || \(fact("capturedAt"))
        || ',"capturedFrom":' || \(fact("capturedFrom"))
        || ',"damage":[],"digest":"' || lower(hex(digest)) || '","event":"asset","group":' || ifnull((
          SELECT '{"kinds":[' || iif(kinds = '', '', '"' || replace(kinds, ', ', '","') || '"')
              || '],"primary":"' || \(Schema.uuid("leader")) || '","role":"' || role || '"}'
            FROM member WHERE asset = page.id), 'null')
        || ',"height":' || \(fact("height"))
        || ',"id":"' || \(Schema.dashed("digits"))
        || '","importedAt":"' || \(time("imported_at / 1000"))
        || '","mediaType":' || \(fact("mediaType"))
        || ',"modifiedAt":"' || \(time("modified / 1000000"))
        || '","name":' || json_quote(name) || ',"orientation":' || \(fact("orientation"))
        || ',"path":' || json_quote(path)
        || ',"renditions":[' || ifnull((
          SELECT group_concat(line) FROM (
            SELECT '{"bytes":' || rendition.bytes || ',"digest":"' || lower(hex(rendition.digest))
              || '","from":' || json_quote(rendition.made_from)
              || ',"height":' || rendition.height
              || ',"mediaType":' || json_quote(rendition.media_type)
              || ',"name":' || json_quote(rendition.name) || ',"stage":' || json_quote(stage.name)
              || ',"stale":' || iif(rendition.ledger <> job.ledger, 'true', 'false')
              || ',"storage":' || iif(rendition.path IS NULL, '"database"', '"file"')
              || ',"width":' || rendition.width || '}' AS line
            FROM \(AssetQuery.renditionTables)
            WHERE job.asset = page.id ORDER BY stage.position, rendition.name)), '')
        || '],"size":' || size || ',"source":' || json_quote(source)
        || ',"state":"' || state
        || '","supersedes":' || ifnull('"' || \(Schema.uuid("supersedes")) || '"', 'null')
        || ',"width":' || \(fact("width"))
        || ',"withoutThumbnail":' || ifnull(\(ThumbnailGapQuery.object(of: "page.id")), 'null') || '}'
      END
    FROM page ORDER BY id
    """
  }

  private static let burst = Schema.burst(
    "'{\"cover\":\"' || \(Schema.uuid("cover")) || '\"}'", of: "page.id")

  private static func fact(_ name: String) -> String { "ifnull(facts -> '\(name)', 'null')" }

  /// Formats milliseconds since 1970 as RFC 3339.
  private static func time(_ milliseconds: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%S', \(milliseconds) / 1000, 'unixepoch')"
      + " || '.' || substr('' || (1000 + \(milliseconds) % 1000), 2) || 'Z'"
  }
}
