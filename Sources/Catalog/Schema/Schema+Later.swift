extension Schema {
  /// Version 2: the view `metadata`. No table changes; every migration recreates all views.
  static let version2 = "SELECT 1"

  /// Version 3: the list of deleted originals, and an index of the trash.
  static let version3 = """
    CREATE TABLE deletion (
      digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
      asset BLOB NOT NULL CHECK (length(asset) = 16),
      sequence INTEGER NOT NULL CHECK (sequence > 0)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deletion_sequence ON deletion (sequence);
    CREATE INDEX asset_trashed ON asset (id) WHERE trashed_at IS NOT NULL;
    """

  /// Version 4: an index of assets by origin, so that assets imply the state of moved files' paths.
  /// `removeImpliedSightings` removes the rows that older versions kept for these paths.
  static let version4 = """
    DROP INDEX asset_source;
    CREATE INDEX asset_origin ON asset (source, path);
    INSERT INTO setting (key, value)
      SELECT '\(Setting.impliedSightings)', '' WHERE EXISTS (SELECT 1 FROM sighting);
    """

  /// Version 5: why a stage is held, without changing each of its jobs.
  static let version5 = """
    ALTER TABLE stage ADD COLUMN held TEXT;
    """
}
