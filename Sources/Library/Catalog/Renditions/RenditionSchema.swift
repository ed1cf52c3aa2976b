import PipelineModel
import Records

/// The schema of the database of renditions, `renditions.sqlite`.
package enum RenditionSchema {
  /// “Pipr” in ASCII.
  static let applicationID: Int64 = 0x5069_7072
  static let version = 1

  /// Rows by number and a unique index of keys: with `WITHOUT ROWID`, each search for a key would read
  /// through blobs. The key is before the content, so reading it needs no other page.
  private static let script = """
    CREATE TABLE rendition (
      id INTEGER PRIMARY KEY,
      owner BLOB NOT NULL CHECK (length(owner) IN (16, 32)),
      fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
      name TEXT NOT NULL,
      content BLOB NOT NULL,
      UNIQUE (owner, fingerprint, name)
    ) STRICT;
    PRAGMA application_id = \(applicationID);
    PRAGMA user_version = \(version);
    """

  /// Checks that a file is a database of renditions; writes nothing.
  ///
  /// - Returns: `false` if it is still empty.
  /// - Throws: `.corrupt`, `.newerVersion`, and `.foreign` for another program's database.
  static func check(_ connection: Connection) throws(CatalogError) -> Bool {
    let path = connection.path
    let application = try connection.first("PRAGMA application_id") { $0.int64(0) } ?? 0
    let version = try connection.first("PRAGMA user_version") { $0.int(0) } ?? 0
    guard application == applicationID else {
      let tables = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.int(0) } ?? 0
      if application == 0 && version == 0 && tables == 0 { return false }
      throw CatalogError(
        .foreign,
        "“\(path)” is a database, but not one of renditions, so nothing was written. Move it away; "
          + "“pipeline run” makes a new one.",
        path: path)
    }
    guard version <= Self.version else {
      throw CatalogError(
        .newerVersion,
        "The database of renditions “\(path)” has version \(version); this program knows "
          + "\(Self.version). Use the newer program that made it.",
        path: path)
    }
    return true
  }

  /// How many bytes `isHeader` takes.
  package static let headerSize = 72

  /// Whether a file with these first bytes is a database of renditions. Source: sqlite.org/fileformat.html#the_database_header.
  package static func isHeader(_ bytes: [UInt8]) -> Bool {
    bytes.count == headerSize && bytes.starts(with: "SQLite format 3\0".utf8)
      && bytes[68...].reduce(0) { $0 << 8 | Int64($1) } == applicationID
  }

  /// Makes the tables in an empty file.
  static func create(in connection: Connection) throws(CatalogError) {
    try connection.transaction { () throws(CatalogError) in try connection.executeScript(script) }
  }
}

extension Connection {
  /// Stores bytes, also in the place of others with this key.
  func keepRendition(_ bytes: [UInt8], as key: RenditionKey) throws(CatalogError) {
    try execute(
      """
      INSERT INTO rendition (owner, fingerprint, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT (owner, fingerprint, name) DO UPDATE SET content = excluded.content
      """, SQLValue.blob(key.owner), key.fingerprint, key.name, SQLValue.blob(bytes))
  }

  /// Returns the bytes with a key, or `nil`.
  func keptRendition(_ key: RenditionKey) throws(CatalogError) -> [UInt8]? {
    try first(
      "SELECT content FROM rendition WHERE owner = ? AND fingerprint = ? AND name = ?",
      SQLValue.blob(key.owner), key.fingerprint, key.name
    ) { $0.blob(0) }
  }

  /// Returns how many bytes have a key, or `nil`.
  func keptRenditionSize(_ key: RenditionKey) throws(CatalogError) -> Int? {
    try first(
      "SELECT length(content) FROM rendition WHERE owner = ? AND fingerprint = ? AND name = ?",
      SQLValue.blob(key.owner), key.fingerprint, key.name
    ) { $0.int(0) }
  }

  /// Returns keys after another one, in order; reads the index alone.
  func keptRenditions(
    after key: RenditionKey?, limit: Int
  ) throws(CatalogError) -> [RenditionKey] {
    try all(
      """
      SELECT owner, fingerprint, name FROM rendition WHERE (owner, fingerprint, name) > (?, ?, ?)
      ORDER BY owner, fingerprint, name LIMIT ?
      """, SQLValue.blob(key?.owner ?? []), SQLValue.blob(key?.fingerprint.digest.bytes ?? []),
      key?.name ?? "", limit
    ) { (row) throws(CatalogError) in try row.renditionKey(0) }
  }

  func removeKeptRendition(_ key: RenditionKey) throws(CatalogError) {
    try execute(
      "DELETE FROM rendition WHERE owner = ? AND fingerprint = ? AND name = ?",
      SQLValue.blob(key.owner), key.fingerprint, key.name)
  }
}
