extension Schema {
  /// Version 7: what users say about assets, and which albums an asset is in.
  ///
  /// `annotation` follows from the manifest; `album` is a part of the row for searches, as `keyword`
  /// is.
  static let version7 = """
    CREATE TABLE annotation (
      asset BLOB NOT NULL REFERENCES asset (id) ON DELETE CASCADE,
      property TEXT NOT NULL,
      text TEXT NOT NULL,
      applies INTEGER NOT NULL CHECK (applies IN (0, 1)),
      PRIMARY KEY (asset, property, text)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE album (
      picture INTEGER NOT NULL REFERENCES picture (number) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      term INTEGER NOT NULL REFERENCES term (id) ON DELETE NO ACTION,
      PRIMARY KEY (picture, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX album_term ON album (term, picture);
    """
}
