import Records

/// What the table `counter` counts, so that `status` need not count rows.
///
/// The counters follow from other tables. Temporary triggers of the writing connection, and the functions that
/// insert what is imported, tell a `CounterChanges` of each row that comes, changes or goes. The end of each
/// transaction adds the sums to the table.
enum Counters {
  /// Counts the changes of what is counted. A change counts everything anew.
  static let version = "1"

  enum Kind: String {
    /// Originals; their amount is bytes.
    case original
    /// Renditions; their amount is bytes.
    case rendition
    /// Assets, also those in the trash.
    case asset
    /// Jobs of a stage, the owner.
    case job
    /// Rows of `sighting` by source, the owner, and state; their amount is how many have an expected file.
    case path
    /// Paths from which assets came and which have no row in `sighting`.
    case impliedPath
  }

  /// Whether a row of `sighting` expects a file: `Sighting.isExpected` in SQL.
  static func expects(_ row: String) -> String {
    """
    (CASE WHEN \(row).state IN ('imported', 'duplicate', 'returned')
      THEN \(row).inode IS NOT NULL ELSE \(row).state <> 'gone' END)
    """
  }

  /// Counts all rows.
  static let selection = """
    SELECT 'original', 0, '', count(*), coalesce(sum(size), 0) FROM original
    UNION ALL SELECT 'rendition', 0, '', count(*), coalesce(sum(bytes), 0) FROM rendition
    UNION ALL SELECT 'asset', 0, '', count(*), 0 FROM asset
    UNION ALL SELECT 'job', stage, '', count(*), 0 FROM job GROUP BY stage
    UNION ALL SELECT 'path', source, state, count(*), count(*) FILTER (WHERE \(expects("sighting"))) FROM sighting
      GROUP BY source, state
    UNION ALL SELECT 'impliedPath', 0, '',
      (SELECT count(*) FROM (SELECT DISTINCT source, path FROM asset)) - (
        SELECT count(*) FROM sighting WHERE EXISTS (SELECT 1 FROM asset
          WHERE asset.source = sighting.source AND asset.path = sighting.path)), 0
    """

  /// Whether the table has the counters of all rows.
  static func areComplete(_ connection: Connection) throws(CatalogError) -> Bool {
    try connection.first(Setting.read, Setting.counters) { $0.text(0) } == version
  }

  static func setComplete(_ connection: Connection) throws(CatalogError) {
    try connection.execute(Setting.write, Setting.counters, version)
  }

  /// Counts all rows anew in the caller's transaction.
  static func countAnew(_ connection: Connection) throws(CatalogError) {
    try connection.execute("DELETE FROM counter")
    try connection.execute("INSERT INTO counter (kind, owner, state, rows, amount) " + selection)
    try setComplete(connection)
  }
}
