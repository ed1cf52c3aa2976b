import PipelineModel
import PostgreSQL
import Records

extension PostgreSQLSchema {
  /// Where a catalog that is made anew is made, before it gets its name.
  static let draftName = "\(name)_new"

  /// The version of a catalog; `nil` if the database has none.
  ///
  /// - Throws: `.corrupt` if a schema of this name is something else, and `.newerVersion`.
  static func version(in connection: Connection) throws(CatalogError) -> Int? {
    let isThere = try connection.hasRow(
      "SELECT 1 FROM pg_namespace WHERE nspname = ?", name)
    guard isThere else { return nil }
    try requireCatalog(name, in: connection)
    let found = try connection.first("SELECT version FROM \(name).schema_version") { $0.int(0) }
    guard let version = found else { throw .unfinished(connection.path) }
    guard version <= Self.version else {
      throw CatalogError(
        .newerVersion,
        "The catalog “\(connection.path)” has version \(version); this program knows \(Self.version). "
          + "Use the newer program that made it.", path: connection.path)
    }
    return version
  }

  /// Refuses a schema of a name that is something else than a catalog; one that is not there is none.
  private static func requireCatalog(
    _ schema: String, in connection: Connection
  ) throws(CatalogError) {
    let isOther = try connection.hasRow(
      """
      SELECT 1 FROM pg_namespace WHERE nspname = ? AND NOT EXISTS (SELECT 1 FROM pg_tables
        WHERE schemaname = nspname AND tablename = 'schema_version')
      """, schema)
    guard isOther else { return }
    // A backup that is being restored has no tables at first.
    throw CatalogError(
      .corrupt,
      "The database “\(connection.path)” has a schema “\(schema)” that is not a catalog. Use another "
        + "database.", path: connection.path, mayPass: true)
  }

  /// Refuses a catalog without all its triggers, indexes and keys, which a backup that is being restored gets last: what is
  /// changed meanwhile would be neither counted nor found by searches.
  ///
  /// - Throws: `.corrupt`.
  static func requireWhole(_ driver: PostgreSQLDriver) throws(CatalogError) {
    // Another version has others, and is refused as such.
    let version = try driver.first("SELECT version FROM \(name).schema_version") { $0.int64(0) }
    guard version == Int64(Self.version) else { return }
    let present = try driver.first(
      """
      SELECT
        (SELECT count(*) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
          WHERE relnamespace = catalog AND tgenabled <> 'D' AND tgname IN (\(list(of: triggerNames))))
        + (SELECT count(*) FROM pg_class
          WHERE relnamespace = catalog AND relkind = 'i' AND relname IN (\(list(of: indexNames))))
        + (SELECT count(*) FROM pg_constraint
          WHERE connamespace = catalog AND contype IN ('f', 'p', 'u') AND conrelid IN (
            SELECT oid FROM pg_class WHERE relnamespace = catalog AND relname IN (\(list(of: tables)))))
      FROM (SELECT to_regnamespace('\(name)') AS catalog) AS schema
      """
    ) { Int($0.int64(0)) }
    let missing = triggerNames.count + indexNames.count + keys - (present ?? 0)
    if missing > 0 {
      throw .unfinished(
        BytePath(driver.address.description), "lacks \(missing) of its triggers, indexes and keys")
    }
  }

  private static let triggerNames = names(
    after: "CREATE TRIGGER ", in: readyTriggers + triggers + followingTriggers)
  private static let tablesText = migrations.joined()
  private static let indexNames =
    names(after: "CREATE INDEX ", in: tablesText)
    + names(after: "CREATE UNIQUE INDEX ", in: tablesText)
  /// How many keys its tables have: foreign, primary and others.
  private static let keys =
    tablesText.ranges(of: " REFERENCES ").count + tablesText.ranges(of: "PRIMARY KEY").count
    + tablesText.ranges(of: "UNIQUE").count - tablesText.ranges(of: "CREATE UNIQUE INDEX").count

  private static func names(after words: String, in script: String) -> [String] {
    script.ranges(of: words).map { range in
      String(script[range.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }
  }

  private static func list(of names: [String]) -> String {
    names.map { "'\($0)'" }.joined(separator: ", ")
  }

  /// The server's number of the catalog's schema.
  static func number(in connection: Connection) throws(CatalogError) -> Int64? {
    try connection.first("SELECT CAST(oid AS bigint) FROM pg_namespace WHERE nspname = ?", name) {
      $0.int64(0)
    }
  }

  /// Makes an empty catalog in the caller's transaction.
  ///
  /// - Parameter isDraft: whether nobody reads it yet: it gets another name, and no triggers that tell of
  ///   changes.
  static func create(in connection: Connection, isDraft: Bool) throws(CatalogError) {
    let schema = isDraft ? draftName : name
    if isDraft {
      try requireCatalog(schema, in: connection)
      try removeDraft(in: connection)
    }
    try connection.executeScript("CREATE SCHEMA \(schema); SET search_path = \(schema)")
    try migrate(connection, from: 0)
    try connection.executeScript(functions + views + readyTriggers + triggers)
    if !isDraft { try connection.executeScript(followingTriggers) }
  }

  /// Version 2: the bytes of renditions are in the catalog, and several processes change it.
  static let version2 = renditionBytes + participants

  /// Version 3: machines ask the process that has the library's lock for changes, and say what they can't do.
  static let version3 = requests + renewal

  /// Version 4: which run found a path's file.
  static let version4 = "ALTER TABLE sighting ADD COLUMN run bytea;" + renewal

  /// Version 5: the end of the manifest, as far as its copies may lack it.
  static let version5 =
    """
    CREATE TABLE manifest_tail (
      first bigint PRIMARY KEY,
      last bigint NOT NULL CHECK (last >= first),
      lines bytea NOT NULL
    );
    """ + renewal
  static let manifestTailVersion = 5

  /// The table of bytes. Nothing is gained by compressing pictures once more.
  private static let renditionBytes = """
    CREATE TABLE rendition_bytes (
      rendition bigint PRIMARY KEY REFERENCES rendition (id) ON DELETE CASCADE,
      content bytea NOT NULL
    );
    ALTER TABLE rendition_bytes ALTER COLUMN content SET STORAGE EXTERNAL;

    """

  /// Removes the triggers of older versions and their functions, for those that follow; part of each newest version.
  private static let renewal = """
    DO $$ DECLARE former record; BEGIN
      FOR former IN SELECT tgname AS name, CAST(tgrelid AS regclass) AS relation FROM pg_trigger
          JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE NOT tgisinternal AND pronamespace = relnamespace
          AND relnamespace = CAST(current_schema() AS regnamespace) LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', former.name, former.relation);
      END LOOP;
      FOR former IN SELECT CAST(oid AS regprocedure) AS name FROM pg_proc
        WHERE prorettype = CAST('trigger' AS regtype)
          AND pronamespace = CAST(current_schema() AS regnamespace) LOOP
        EXECUTE format('DROP FUNCTION %s', former.name);
      END LOOP;
    END $$;

    """

  /// Migrates the tables of a catalog, in the caller's transaction.
  private static func migrate(_ connection: Connection, from version: Int) throws(CatalogError) {
    for step in migrations[version...] { try connection.executeScript(step) }
    try connection.executeScript("UPDATE schema_version SET version = \(Self.version)")
  }

  /// Migrates an older catalog, in the caller's transaction and under its lock.
  static func update(_ connection: Connection, from version: Int) throws(CatalogError) {
    try migrate(connection, from: version)
    // Views keep their columns, and who may read them.
    try connection.executeScript(
      views.replacing("CREATE VIEW", with: "CREATE OR REPLACE VIEW") + readyTriggers + triggers
        + followingTriggers)
  }

  /// Gives a draft the name of the catalog, in the caller's transaction.
  ///
  /// - Returns: the name under which the former one is kept; `nil` if there was none.
  static func replace(in connection: Connection, at microseconds: Int64) throws(CatalogError)
    -> String?
  {
    try connection.executeScript(followingTriggers)
    var former: String?
    if try connection.hasRow("SELECT 1 FROM pg_namespace WHERE nspname = ?", name) {
      former = try setAside(in: connection, at: microseconds)
    }
    try connection.executeScript(
      "ALTER SCHEMA \(draftName) RENAME TO \(name); SET search_path = \(name)")
    return former
  }

  /// Gives the catalog another name, in the caller's transaction.
  ///
  /// - Returns: that name, under which it is kept.
  static func setAside(
    in connection: Connection, at microseconds: Int64
  ) throws(CatalogError) -> String {
    let old = "\(name)_\(microseconds)_old"
    // The mark of this commit is in there.
    try connection.executeScript("ALTER SCHEMA \(name) RENAME TO \(old); SET search_path = \(old)")
    return old
  }

  /// Removes a draft that nobody finishes.
  static func removeDraft(in connection: Connection) throws(CatalogError) {
    try connection.executeScript("DROP SCHEMA IF EXISTS \(draftName) CASCADE")
  }
}

extension CatalogError {
  /// The error that a catalog in a database is not complete yet.
  static func unfinished(_ catalog: BytePath, _ what: String = "has no version") -> CatalogError {
    CatalogError(
      .corrupt,
      "The catalog “\(catalog)” \(what), as while a backup is being restored. If it stays so, restore it again, or drop the "
        + "schema “\(PostgreSQLSchema.name)” and run `pipeline rebuild-catalog` on the machine with the library's own folder.",
      path: catalog, mayPass: true)
  }
}
