import PipelineModel

extension Workspace {
  /// Makes the catalog one of version 5, before searches: what later versions added is gone.
  ///
  /// - Parameter more: SQL that makes it still older.
  func makeCatalogOlder(_ more: String = "") throws {
    let sql = """
      DROP VIEW annotations; DROP TABLE annotation; DROP TABLE album; DROP TABLE revision; DROP TABLE epoch;
      DROP TABLE frame; DROP TABLE sign; DROP TABLE member; DROP TABLE counter; DROP INDEX run_ended;
      DROP TABLE keyword; DROP TABLE picture; DROP TABLE term; DROP INDEX rendition_damaged;
      DELETE FROM setting WHERE key IN ('pictures', 'counters', 'groups.progress'); PRAGMA user_version = 5;
      """
    try Unprivileged.shell("sqlite3 library/catalog.sqlite \"\(sql) \(more)\"", in: self)
  }
}
