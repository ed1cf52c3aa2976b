extension Schema {
  /// Version 10: which assets belong together.
  ///
  /// The rows follow from names, facts and the policy; `GroupFormation` makes them. Those of older
  /// assets are made by the next change of the catalog's owner, page by page.
  static let version10 = """
    CREATE TABLE member (
      asset BLOB PRIMARY KEY REFERENCES asset (id) ON DELETE CASCADE,
      leader BLOB NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      kinds TEXT NOT NULL,
      role TEXT NOT NULL
        CHECK (role IN ('primary', 'picture', 'raw', 'movie', 'sidecar', 'orphan')),
      sidecar BLOB REFERENCES asset (id) ON DELETE SET NULL,
      CHECK ((role IN ('primary', 'orphan')) = (asset = leader)),
      CHECK ((role = 'orphan') = (kinds = ''))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX member_leader ON member (leader, asset);
    CREATE INDEX member_sidecar ON member (sidecar) WHERE sidecar IS NOT NULL;
    CREATE INDEX member_orphan ON member (asset) WHERE role = 'orphan';

    INSERT INTO setting (key, value)
      SELECT '\(Setting.groupProgress)', '' WHERE EXISTS (SELECT 1 FROM asset);
    """
}
