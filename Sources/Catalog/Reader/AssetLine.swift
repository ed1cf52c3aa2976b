/// An asset as a line of JSON written by SQLite, with the members of `JSONMembers.asset` in key order.
///
/// Decoding values and encoding them again costs several times as much as the list itself.
enum AssetLine {
  /// The key and the line of each asset of a page; `NULL` for a line that SQL can't write.
  ///
  /// Names that are not UTF-8 are copied unchanged.
  static let page = """
    WITH page AS MATERIALIZED (
      SELECT asset.id AS id, lower(hex(asset.id)) AS digits, asset.digest AS digest,
        original.size AS size, CAST(asset.name AS TEXT) AS name,
        CAST(source.path AS TEXT) AS source, CAST(asset.path AS TEXT) AS path,
        asset.modified AS modified, asset.imported_at AS imported_at,
        asset.supersedes AS supersedes, asset.trashed_at AS trashed_at, asset_state.state AS state,
        \(AssetQuery.identity) AS facts
      FROM \(AssetQuery.tables)
      WHERE asset.id > ? ORDER BY asset.id LIMIT \(CatalogReader.pageSize)
    )
    SELECT id, CASE WHEN modified >= 0 AND imported_at >= 0 AND trashed_at IS NULL THEN
      '{"capturedAt":' || \(fact("capturedAt"))
        || ',"capturedFrom":' || \(fact("capturedFrom"))
        || ',"damage":[],"digest":"' || lower(hex(digest)) || '","event":"asset","height":' || \(fact("height"))
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
        || ',"width":' || \(fact("width")) || '}'
      END
    FROM page ORDER BY id
    """

  private static func fact(_ name: String) -> String { "ifnull(facts -> '\(name)', 'null')" }

  /// Formats milliseconds since 1970 as RFC 3339.
  private static func time(_ milliseconds: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%S', \(milliseconds) / 1000, 'unixepoch')"
      + " || '.' || substr(1000 + \(milliseconds) % 1000, 2) || 'Z'"
  }
}
