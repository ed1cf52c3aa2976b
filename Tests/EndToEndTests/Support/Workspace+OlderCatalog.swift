import Fixtures
import PipelineModel

extension Workspace {
  /// Makes the catalog one of version 5, before searches: what later versions added is gone, and the
  /// bytes of renditions are in it.
  ///
  /// - Parameter more: SQL that makes it still older.
  func makeCatalogOlder(_ more: String = "") throws {
    let sql = """
      ALTER TABLE sighting DROP COLUMN run;
      CREATE TABLE rendition_bytes (
        rendition INTEGER PRIMARY KEY REFERENCES rendition (id) ON DELETE CASCADE,
        content BLOB NOT NULL
      ) STRICT;
      ATTACH 'library/renditions.sqlite' AS kept;
      INSERT INTO rendition_bytes SELECT rendition.id, bytes.content FROM rendition
        JOIN ledger ON ledger.id = rendition.ledger
        JOIN fingerprint ON fingerprint.id = ledger.fingerprint
        JOIN kept.rendition AS bytes ON bytes.owner = coalesce(ledger.asset, ledger.digest)
          AND bytes.fingerprint = fingerprint.value AND bytes.name = rendition.name
        WHERE rendition.path IS NULL;
      DETACH kept;
      DROP VIEW annotations; DROP TABLE annotation; DROP TABLE album; DROP TABLE revision; DROP TABLE epoch;
      DROP TABLE frame; DROP TABLE sign; DROP TABLE member; DROP TABLE counter; DROP INDEX run_ended;
      DROP TABLE keyword; DROP TABLE picture; DROP TABLE term; DROP INDEX rendition_damaged;
      DELETE FROM setting WHERE key IN ('pictures', 'counters', 'groups.progress'); PRAGMA user_version = 5;
      """
    // Without renditions in a database there is no such file, and none is left.
    let schema = "CREATE TABLE IF NOT EXISTS rendition (owner, fingerprint, name, content)"
    try Unprivileged.shell(
      """
      sqlite3 library/renditions.sqlite "\(schema)"
      sqlite3 library/catalog.sqlite "\(sql) \(more)"
      rm library/renditions.sqlite*
      """, in: self)
  }
}
