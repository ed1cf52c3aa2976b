import CSQLite
import Records

/// How a transaction changes the counters, added up in memory.
///
/// A statement for each row would cost more than the row. Belongs to its connection.
///
/// Triggers tell of all rows but those that each import inserts: a statement that fires a trigger saves
/// every page that it changes first, so that it can be undone alone.
final class CounterChanges {
  struct Key: Hashable {
    var kind: Counters.Kind
    var owner: Int64
    var state: String
  }

  struct Change {
    var rows: Int64 = 0
    var amount: Int64 = 0

    mutating func add(_ other: Change) {
      rows += other.rows
      amount += other.amount
    }
  }

  private(set) var changes: [Key: Change] = [:]

  /// Whether rows are counted as they come and go; otherwise all are counted later.
  private(set) var areCounted = false

  /// Begins counting what statements of the writer tell, where the schema has the triggers.
  func begin() { areCounted = true }

  func removeAll() { changes.removeAll(keepingCapacity: true) }

  func count(
    _ kind: Counters.Kind, owner: Int64 = 0, state: String = "", rows: Int64, amount: Int64 = 0
  ) {
    guard areCounted else { return }
    add(Change(rows: rows, amount: amount), to: Key(kind: kind, owner: owner, state: state))
  }

  private func add(_ change: Change, to key: Key) {
    changes[key, default: Change()].add(change)
  }

  /// The SQL function by which triggers tell of a row: kind, owner, state, change of rows, change of amount.
  private static let function = "pipeline_count"

  /// Begins counting: registers the function, which keeps this object until the connection is closed.
  ///
  /// Source: sqlite.org/c3ref/create_function.html.
  func register(on driver: SQLiteDriver) throws(CatalogError) {
    let code = sqlite3_create_function_v2(
      driver.handle, Self.function, 5, SQLITE_UTF8, Unmanaged.passRetained(self).toOpaque(),
      { context, _, values in
        guard let object = sqlite3_user_data(context), let values,
          let name = sqlite3_value_text(values[0]),
          let kind = Counters.Kind(rawValue: String(cString: name)),
          let state = sqlite3_value_text(values[2])
        else { return }
        Unmanaged<CounterChanges>.fromOpaque(object).takeUnretainedValue().count(
          kind, owner: sqlite3_value_int64(values[1]), state: String(cString: state),
          rows: sqlite3_value_int64(values[3]), amount: sqlite3_value_int64(values[4]))
      }, nil, nil,
      { object in
        if let object { Unmanaged<CounterChanges>.fromOpaque(object).release() }
      })
    guard code == SQLITE_OK else { throw driver.error(code, during: "creating a function") }
    areCounted = true
  }

  /// Temporary, as those for `picture`. New originals, assets and sightings are counted by the functions in
  /// `CatalogWriter+Import`.
  ///
  /// A path is implied by assets while it has no row of its own, so both tables change that counter.
  static let triggers = """
    CREATE TEMP TRIGGER uncount_original AFTER DELETE ON main.original BEGIN
        SELECT \(function)('original', 0, '', -1, -OLD.size);
      END;
    CREATE TEMP TRIGGER count_rendition AFTER INSERT ON main.rendition BEGIN
        SELECT \(function)('rendition', 0, '', 1, NEW.bytes);
      END;
    CREATE TEMP TRIGGER uncount_rendition AFTER DELETE ON main.rendition BEGIN
        SELECT \(function)('rendition', 0, '', -1, -OLD.bytes);
      END;
    CREATE TEMP TRIGGER uncount_asset AFTER DELETE ON main.asset BEGIN
        SELECT \(function)('asset', 0, '', -1, 0);
        SELECT \(function)('impliedPath', 0, '', -1, 0) WHERE \(isOnlyOrigin("OLD"));
      END;
    CREATE TEMP TRIGGER count_job AFTER INSERT ON main.job BEGIN
        SELECT \(function)('job', NEW.stage, '', 1, 0);
      END;
    CREATE TEMP TRIGGER uncount_job AFTER DELETE ON main.job BEGIN
        SELECT \(function)('job', OLD.stage, '', -1, 0);
      END;
    CREATE TEMP TRIGGER uncount_path AFTER DELETE ON main.sighting BEGIN
        SELECT \(function)('path', OLD.source, OLD.state, -1, -\(Counters.expects("OLD")));
        SELECT \(function)('impliedPath', 0, '', 1, 0) WHERE \(isOrigin("OLD"));
      END;
    CREATE TEMP TRIGGER recount_path AFTER UPDATE OF state, inode ON main.sighting BEGIN
        SELECT \(function)('path', OLD.source, OLD.state, -1, -\(Counters.expects("OLD")));
        SELECT \(function)('path', NEW.source, NEW.state, 1, \(Counters.expects("NEW")));
      END;
    """

  /// SQL that finds a path, by source and path, from which an asset came.
  static let origin =
    "SELECT 1 FROM sighting WHERE source = ? AND path = ? AND \(isOrigin("sighting"))"

  /// SQL that finds an asset, by key, if no other came from its path and the path has no row.
  static let onlyOrigin = "SELECT 1 FROM asset AS new WHERE id = ? AND \(isOnlyOrigin("new"))"

  static func isOrigin(_ row: String) -> String {
    "EXISTS (SELECT 1 FROM asset WHERE asset.source = \(row).source AND asset.path = \(row).path)"
  }

  /// Whether no other asset came from an asset's path, and the path has no row.
  static func isOnlyOrigin(_ row: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM asset
        WHERE source = \(row).source AND path = \(row).path AND id <> \(row).id)
      AND NOT EXISTS (SELECT 1 FROM sighting WHERE source = \(row).source AND path = \(row).path)
    """
  }
}

extension CatalogWriter {
  /// Adds the changes of this transaction to the counters.
  func updateCounters() throws(CatalogError) {
    if connection.dialect == .postgreSQL { try collectCounted() }
    guard !counterChanges.changes.isEmpty else { return }
    if try Counters.areComplete(connection) {
      for (key, change) in counterChanges.changes {
        try connection.execute(
          """
          INSERT INTO counter (kind, owner, state, rows, amount) VALUES (?, ?, ?, ?, ?) \(Self.adding)
          """, key.kind.rawValue, key.owner, key.state, change.rows, change.amount)
      }
    }
    counterChanges.removeAll()
  }

  /// Adds what PostgreSQL's triggers counted.
  private func collectCounted() throws(CatalogError) {
    try connection.execute(
      """
      INSERT INTO counter (kind, owner, state, rows, amount)
      SELECT kind, owner, state, sum(rows), sum(amount) FROM temp.counted
      WHERE EXISTS (SELECT 1 FROM setting WHERE key = ? AND value = ?)
      GROUP BY kind, owner, state \(Self.adding)
      """, Setting.counters, Counters.version)
    try connection.execute("DELETE FROM temp.counted")
  }

  private static let adding = """
    ON CONFLICT (kind, owner, state) DO UPDATE
      SET rows = counter.rows + excluded.rows, amount = counter.amount + excluded.amount
    """

  /// Counts all rows anew if they were not counted, in the caller's transaction.
  func completeCounters() throws(CatalogError) {
    if try !Counters.areComplete(connection) { try Counters.countAnew(connection) }
    counterChanges.removeAll()
  }
}
