import CSQLite

/// How a transaction changes the counters, added up in memory.
///
/// A statement for each row would cost more than the row. Belongs to the queue of its connection.
final class CounterChanges {
  struct Key: Hashable {
    var kind: String
    var owner: Int64
    var state: String
  }

  struct Change {
    var rows: Int64 = 0
    var amount: Int64 = 0
  }

  private(set) var changes: [Key: Change] = [:]

  func removeAll() { changes.removeAll(keepingCapacity: true) }

  /// The SQL function by which triggers tell of a row: kind, owner, state, change of rows, change of amount.
  private static let function = "pipeline_count"

  /// Registers the function, which keeps this object until the connection is closed.
  ///
  /// Source: sqlite.org/c3ref/create_function.html.
  func register(on connection: Connection) throws(CatalogError) {
    let code = sqlite3_create_function_v2(
      connection.handle, Self.function, 5, SQLITE_UTF8, Unmanaged.passRetained(self).toOpaque(),
      { context, _, values in
        guard let object = sqlite3_user_data(context), let values,
          let kind = sqlite3_value_text(values[0]), let state = sqlite3_value_text(values[2])
        else { return }
        let key = Key(
          kind: String(cString: kind), owner: sqlite3_value_int64(values[1]),
          state: String(cString: state))
        let counters = Unmanaged<CounterChanges>.fromOpaque(object).takeUnretainedValue()
        counters.changes[key, default: Change()].rows += sqlite3_value_int64(values[3])
        counters.changes[key, default: Change()].amount += sqlite3_value_int64(values[4])
      }, nil, nil,
      { object in
        if let object { Unmanaged<CounterChanges>.fromOpaque(object).release() }
      })
    guard code == SQLITE_OK else { throw connection.error(code, during: "creating a function") }
  }

  /// Temporary, as those for `picture`, so that no statement can forget a counter.
  ///
  /// A path is implied by assets while it has no row of its own, so both tables change that counter.
  static let triggers = """
    CREATE TEMP TRIGGER count_original AFTER INSERT ON main.original BEGIN
        SELECT \(function)('original', 0, '', 1, NEW.size);
      END;
    CREATE TEMP TRIGGER uncount_original AFTER DELETE ON main.original BEGIN
        SELECT \(function)('original', 0, '', -1, -OLD.size);
      END;
    CREATE TEMP TRIGGER count_rendition AFTER INSERT ON main.rendition BEGIN
        SELECT \(function)('rendition', 0, '', 1, NEW.bytes);
      END;
    CREATE TEMP TRIGGER uncount_rendition AFTER DELETE ON main.rendition BEGIN
        SELECT \(function)('rendition', 0, '', -1, -OLD.bytes);
      END;
    CREATE TEMP TRIGGER count_asset AFTER INSERT ON main.asset BEGIN
        SELECT \(function)('asset', 0, '', 1, 0);
        SELECT \(function)('impliedPath', 0, '', 1, 0) WHERE \(isOnlyOrigin("NEW"));
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
    CREATE TEMP TRIGGER count_path AFTER INSERT ON main.sighting BEGIN
        SELECT \(function)('path', NEW.source, NEW.state, 1, \(Counters.expects("NEW")));
        SELECT \(function)('impliedPath', 0, '', -1, 0) WHERE \(isOrigin("NEW"));
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

  private static func isOrigin(_ row: String) -> String {
    "EXISTS (SELECT 1 FROM asset WHERE source = \(row).source AND path = \(row).path)"
  }

  /// Whether no other asset came from an asset's path, and the path has no row.
  private static func isOnlyOrigin(_ row: String) -> String {
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
    guard !counterChanges.changes.isEmpty else { return }
    if try Counters.areComplete(connection) {
      for (key, change) in counterChanges.changes {
        try connection.execute(
          """
          INSERT INTO counter (kind, owner, state, rows, amount) VALUES (?, ?, ?, ?, ?)
          ON CONFLICT DO UPDATE SET rows = rows + excluded.rows, amount = amount + excluded.amount
          """, key.kind, key.owner, key.state, change.rows, change.amount)
      }
    }
    counterChanges.removeAll()
  }

  /// Counts all rows anew if they were not counted, in the caller's transaction.
  func completeCounters() throws(CatalogError) {
    if try !Counters.areComplete(connection) { try Counters.countAnew(connection) }
    counterChanges.removeAll()
  }
}
