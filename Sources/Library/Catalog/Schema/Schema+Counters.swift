extension Schema {
  /// Version 9: how many rows there are of what `status` counts, and an index for its last run.
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

    CREATE INDEX run_ended ON run (ended_at, id) WHERE ended_at IS NOT NULL;
    """
}
