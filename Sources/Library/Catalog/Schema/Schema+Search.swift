extension Schema {
  /// Version 6: one narrow row for each asset, to search without reading facts.
  ///
  /// The rows follow from `asset` and the facts of the stages that describe files; `PictureRow` makes
  /// them. Those of older assets are made by the next change of the catalog's owner, page by page.
  static let version6 = """
    CREATE TABLE term (
      id INTEGER PRIMARY KEY,
      text TEXT NOT NULL UNIQUE,
      folded TEXT NOT NULL
    ) STRICT;

    CREATE TABLE picture (
      number INTEGER PRIMARY KEY,
      asset BLOB NOT NULL UNIQUE REFERENCES asset (id) ON DELETE CASCADE,
      name TEXT NOT NULL, name_folded TEXT,
      path TEXT NOT NULL, path_folded TEXT,
      source INTEGER NOT NULL REFERENCES term (id) ON DELETE NO ACTION,
      type INTEGER REFERENCES term (id) ON DELETE NO ACTION,
      kind TEXT,
      camera INTEGER REFERENCES term (id) ON DELETE NO ACTION,
      lens INTEGER REFERENCES term (id) ON DELETE NO ACTION,
      title TEXT, title_folded TEXT,
      caption TEXT, caption_folded TEXT,
      words TEXT,
      taken INTEGER,
      imported INTEGER NOT NULL,
      modified INTEGER NOT NULL,
      trashed INTEGER,
      size REAL NOT NULL,
      width REAL, height REAL, iso REAL, aperture REAL, exposure REAL, focal REAL, rating REAL,
      latitude REAL, longitude REAL
    ) STRICT;
    CREATE INDEX picture_taken ON picture (taken DESC, asset) WHERE taken IS NOT NULL;
    CREATE INDEX picture_camera ON picture (camera, taken DESC, asset) WHERE camera IS NOT NULL;
    CREATE INDEX picture_trashed ON picture (trashed) WHERE trashed IS NOT NULL;

    CREATE TABLE keyword (
      picture INTEGER NOT NULL REFERENCES picture (number) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      term INTEGER NOT NULL REFERENCES term (id) ON DELETE NO ACTION,
      PRIMARY KEY (picture, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX keyword_term ON keyword (term, picture);

    CREATE INDEX rendition_damaged ON rendition (ledger) WHERE made_from = 'damaged';
    """
}
