extension Schema {
  /// Version 2: the view `metadata`. No table changes; views are made anew with every migration.
  static let version2 = "SELECT 1"

  /// Version 3: the list of deleted originals, and the trash without a look at every asset.
  static let version3 = """
    CREATE TABLE deletion (
      digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
      asset BLOB NOT NULL CHECK (length(asset) = 16),
      sequence INTEGER NOT NULL CHECK (sequence > 0)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deletion_sequence ON deletion (sequence);
    CREATE INDEX asset_trashed ON asset (id) WHERE trashed_at IS NOT NULL;
    """

  /// Version 4: assets by where they came from, so that they can speak for the paths of moved files.
  /// The rows that older versions kept of those are removed bit by bit.
  static let version4 = """
    DROP INDEX asset_source;
    CREATE INDEX asset_origin ON asset (source, path);
    INSERT INTO setting (key, value)
      SELECT '\(Setting.impliedSightings)', '' WHERE EXISTS (SELECT 1 FROM sighting);
    """

  /// Version 5: why a stage can't run, so that its jobs say so without a change of each.
  static let version5 = """
    ALTER TABLE stage ADD COLUMN held TEXT;
    """
}
