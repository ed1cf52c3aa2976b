extension Schema {
  /// Version 8: which assets changed since when.
  ///
  /// `revision` has one row for each asset that changed since the update to this version, and one for each
  /// that was deleted within a month. Assets without a row changed before all others.
  static let version8 = """
    CREATE TABLE epoch (
      first INTEGER PRIMARY KEY,
      id TEXT NOT NULL CHECK (length(id) = 16),
      began_at INTEGER NOT NULL
    ) STRICT;
    INSERT INTO epoch (first, id, began_at)
      VALUES (0, lower(hex(randomblob(8))), CAST(strftime('%s', 'now') AS INTEGER) * 1000000);

    CREATE TABLE revision (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      asset BLOB NOT NULL UNIQUE CHECK (length(asset) = 16),
      removed INTEGER NOT NULL CHECK (removed IN (0, 1))
    ) STRICT;
    CREATE INDEX revision_removed ON revision (number) WHERE removed = 1;
    """
}
