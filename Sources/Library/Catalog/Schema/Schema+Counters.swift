extension Schema {
  /// Version 9: how many rows there are of what `status` counts, an index for its last run, and the
  /// indexes by capture time the other way around.
  ///
  /// Pictures come in the order in which they are taken, mostly. SQLite fills the pages of an index that
  /// grows at its end, and leaves half of each empty if it grows at its beginning.
  ///
  /// The counters follow from other tables. `Counters` fills them, and says what they count.
  static let version9 = """
    CREATE TABLE counter (
      kind TEXT NOT NULL,
      owner INTEGER NOT NULL,
      state TEXT NOT NULL,
      rows INTEGER NOT NULL,
      amount INTEGER NOT NULL,
      PRIMARY KEY (kind, owner, state)
    ) STRICT, WITHOUT ROWID;

    DROP INDEX picture_taken;
    CREATE INDEX picture_taken ON picture (taken, asset DESC) WHERE taken IS NOT NULL;
    DROP INDEX picture_camera;
    CREATE INDEX picture_camera ON picture (camera, taken, asset DESC) WHERE camera IS NOT NULL;

    CREATE INDEX run_ended ON run (ended_at, id) WHERE ended_at IS NOT NULL;
    """
}
