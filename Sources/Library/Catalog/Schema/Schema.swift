import Records

/// The schema and its migrations.
///
/// `user_version` counts the migrations of a file; `application_id` distinguishes
/// catalogs from other databases.
enum Schema {
  /// “Pipe” in ASCII.
  static let applicationID: Int64 = 0x5069_7065

  /// Each step migrates a file from the version equal to its index to the next.
  static let migrations = [
    version1, version2, version3, version4, version5, version6, version7, version8,
    version9, version10, version11, version12, version13,
    version14,
  ]

  /// The version that this program writes.
  static var version: Int { migrations.count }

  enum Condition {
    /// An empty file: its creation was interrupted.
    case empty
    case foreign
    case version(Int)
  }

  /// Determines the kind of a file without writing to it.
  static func condition(of connection: Connection) throws(CatalogError) -> Condition {
    let application = try connection.first("PRAGMA application_id") { $0.int64(0) } ?? 0
    let version = try connection.first("PRAGMA user_version") { $0.int(0) } ?? 0
    if application == applicationID { return .version(version) }
    let tables = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.int(0) } ?? 0
    return application == 0 && version == 0 && tables == 0 ? .empty : .foreign
  }

  /// Checks that a file is a catalog that this program can read.
  ///
  /// - Returns: its version.
  static func check(_ connection: Connection) throws(CatalogError) -> Int {
    let path = connection.path
    switch try condition(of: connection) {
    case .empty:
      throw CatalogError(
        .missing, "The catalog “\(path)” is empty. \(CatalogError.advice)", path: path)
    case .foreign:
      throw CatalogError(
        .corrupt, "“\(path)” is a database, but not a catalog. \(CatalogError.advice)", path: path)
    case .version(let version) where version > Self.version:
      throw CatalogError(
        .newerVersion,
        "The catalog “\(path)” has version \(version); this program knows \(Self.version). "
          + "Use the newer program that made it.",
        path: path)
    case .version(let version): return version
    }
  }

  /// Migrates a file to the newest version in the caller's transaction.
  static func migrate(
    _ connection: Connection, from version: Int, through migrations: [String] = migrations
  ) throws(CatalogError) {
    guard version < migrations.count else { return }
    let views = try connection.all("SELECT name FROM sqlite_schema WHERE type = 'view'") {
      $0.text(0)
    }
    for view in views { try connection.executeScript("DROP VIEW \"\(view)\"") }
    for step in migrations[version...] { try connection.executeScript(step) }
    if version < bytesVersion, migrations.count >= bytesVersion { try connection.dropFormerBytes() }
    try connection.executeScript(Self.views)
    try connection.executeScript(
      "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(migrations.count)")
  }

  /// Version 2: the view `metadata`. No table changes; every migration recreates all views.
  static let version2 = "SELECT 1"

  /// Version 3: the list of deleted originals, and an index of the trash.
  static let version3 = """
    CREATE TABLE deletion (
      digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
      asset BLOB NOT NULL CHECK (length(asset) = 16),
      sequence INTEGER NOT NULL CHECK (sequence > 0)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deletion_sequence ON deletion (sequence);
    CREATE INDEX asset_trashed ON asset (id) WHERE trashed_at IS NOT NULL;
    """

  /// Version 4: an index of assets by origin, so that assets imply the state of moved files' paths.
  /// `removeImpliedSightings` removes the rows that older versions kept for these paths.
  static let version4 = """
    DROP INDEX asset_source;
    CREATE INDEX asset_origin ON asset (source, path);
    INSERT INTO setting (key, value)
      SELECT '\(Setting.impliedSightings)', '' WHERE EXISTS (SELECT 1 FROM sighting);
    """

  /// Version 5: why a stage is held, without changing each of its jobs.
  static let version5 = """
    ALTER TABLE stage ADD COLUMN held TEXT;
    """

  /// Version 13: the index by camera without keys, which only decide between equal times.
  static let version13 = """
    DROP INDEX picture_camera;
    CREATE INDEX picture_camera ON picture (camera, taken) WHERE camera IS NOT NULL;
    """

  /// Version 14: which run found a path's file.
  static let version14 = """
    ALTER TABLE sighting ADD COLUMN run BLOB;
    """

  /// Version 11: the bytes of renditions are in a database of their own. Drops the table `rendition_bytes`
  /// if it is empty; `moveFormerBytes` empties it.
  static let version11 = "SELECT 1"
  private static let bytesVersion = 11
}
