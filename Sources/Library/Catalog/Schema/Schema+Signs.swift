extension Schema {
  /// Version 12: bursts, and Live Photos whose parts have different names.
  ///
  /// All rows follow from facts, names and the policy. A `sign` is what a file says of the burst or
  /// the Live Photo that it belongs to; a `frame` is a shot of a burst. A member that a content
  /// identifier joins to a group (`link`) remembers the group that its name gives it.
  static let version12 = """
    CREATE TABLE sign (
      asset BLOB NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      kind TEXT NOT NULL CHECK (kind IN ('burst', 'livePhoto')),
      value BLOB NOT NULL,
      movie INTEGER NOT NULL CHECK (movie IN (0, 1)),
      cover INTEGER NOT NULL CHECK (cover IN (0, 1)),
      frames INTEGER NOT NULL CHECK (frames > 0),
      taken INTEGER,
      camera TEXT,
      PRIMARY KEY (asset, kind)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sign_value ON sign (kind, value, asset);

    CREATE TABLE frame (
      asset BLOB PRIMARY KEY REFERENCES asset (id) ON DELETE CASCADE,
      cover BLOB NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      sign BLOB
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX frame_cover ON frame (cover, asset);
    CREATE INDEX frame_sign ON frame (sign) WHERE sign IS NOT NULL;
    CREATE INDEX frame_unsigned ON frame (asset) WHERE sign IS NULL;

    ALTER TABLE member ADD COLUMN link BLOB;
    ALTER TABLE member ADD COLUMN own_leader BLOB;
    ALTER TABLE member ADD COLUMN own_kinds TEXT CHECK ((own_kinds IS NULL) = (link IS NULL));
    CREATE INDEX member_link ON member (link) WHERE link IS NOT NULL;
    """

  /// SQL for something of the frame that the shot of an asset is; `NULL` if it is of no burst.
  ///
  /// The files of one shot are one frame, by their primary.
  static func burst(_ value: String, of asset: String) -> String {
    """
    (SELECT \(value) FROM frame WHERE frame.asset
      = ifnull((SELECT leader FROM member WHERE member.asset = \(asset)), \(asset)))
    """
  }
}
