import PipelineModel
import Records

/// Opening a catalog in PostgreSQL, whose database others may use, too: the catalog is a schema of it.
extension Catalog {
  /// Creates a catalog, or opens the one that is there and migrates an older one.
  ///
  /// - Parameters:
  ///   - create: whether to make one where there is none.
  ///   - isDraft: whether to make one that replaces the catalog at `finishDraft`.
  static func connect(
    to place: CatalogPlace, _ address: DatabaseLocation, libraryID: String, creating create: Bool,
    isDraft: Bool
  ) throws(CatalogError) -> Connection {
    let driver = try PostgreSQLDriver(address, role: .writing)
    let connection = Connection(driver, place)
    do throws(CatalogError) {
      try driver.requireWritable()
      try driver.lock()
      if isDraft { try requireReplaceable(connection, libraryID: libraryID) }
      let version = isDraft ? nil : try PostgreSQLSchema.version(in: connection)
      // Before anything is changed: a commit whose answer is lost needs it to find out what became of it. The
      // draft takes the catalog's name with the last commit.
      driver.session =
        (isDraft
          ? "SET search_path = \(PostgreSQLSchema.draftName), \(PostgreSQLSchema.name); " : "")
        + PostgreSQLSchema.session
      let connected = driver.connectionNumber
      if let version {
        try requireOwner(of: connection, libraryID: libraryID)
        if version < PostgreSQLSchema.version {
          try connection.transaction { () throws(CatalogError) in
            try PostgreSQLSchema.update(connection, from: version)
          }
        }
        try PostgreSQLSchema.requireWhole(driver)
        try LostRenditions.noteEmptyTable(in: connection)
      } else {
        guard create else { throw .missing(place) }
        try connection.transaction { () throws(CatalogError) in
          try PostgreSQLSchema.create(in: connection, isDraft: isDraft)
          try prepareNew(connection, libraryID: libraryID, isDraft: isDraft)
        }
      }
      driver.upkeep = PostgreSQLSchema.sessionUpkeep
      // A new connection has it already.
      if driver.connectionNumber == connected { try connection.executeScript(driver.session) }
      try driver.noteLastMark()
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// Connects to a catalog that another process may have the lock of.
  static func connectBeside(
    _ place: CatalogPlace, _ address: DatabaseLocation, libraryID: String
  ) throws(CatalogError) -> Connection {
    let driver = try PostgreSQLDriver(address, role: .working)
    let connection = Connection(driver, place)
    do throws(CatalogError) {
      try driver.requireWritable()
      guard let version = try PostgreSQLSchema.version(in: connection) else {
        throw .missing(place)
      }
      guard version == PostgreSQLSchema.version else {
        throw CatalogError(
          .newerVersion,
          "The catalog “\(place.name)” has the older version \(version): `pipeline run` with the library's lock "
            + "updates it.", path: place.name)
      }
      try requireOwner(of: connection, libraryID: libraryID)
      try PostgreSQLSchema.requireWhole(driver)
      driver.session = PostgreSQLSchema.session
      driver.upkeep = PostgreSQLSchema.sessionUpkeep
      try connection.executeScript(driver.session)
      // Before the first rendition of this process hides the loss.
      try LostRenditions.noteEmptyTable(in: connection)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  /// Joins those who change the catalog, by another connection.
  static func join(
    _ connection: Connection, _ address: DatabaseLocation, isTaker: Bool,
    timing: ParticipationTiming
  ) throws(CatalogError) -> Participation {
    do throws(CatalogError) {
      let participation = try Participation(
        connection.place, address, isTaker: isTaker, timing: timing)
      connection.postgreSQL?.participant = participation.id
      return participation
    } catch {
      connection.close()
      throw error
    }
  }

  /// Refuses to replace the catalog of another library, or a schema that is something else.
  private static func requireReplaceable(
    _ connection: Connection, libraryID: String
  ) throws(CatalogError) {
    do throws(CatalogError) {
      guard try PostgreSQLSchema.version(in: connection) != nil else { return }
    } catch let error where error.code == .newerVersion {
      // A newer program's catalog has its owner in the same place.
    }
    try requireOwner(of: connection, libraryID: libraryID)
  }

  /// Reads a setting of a catalog.
  static func setting(
    _ key: String, of place: CatalogPlace, _ address: DatabaseLocation, libraryID: String?
  ) throws(CatalogError) -> String? {
    let connection = Connection(try PostgreSQLDriver(address, role: .reading), place)
    defer { connection.close() }
    guard try PostgreSQLSchema.version(in: connection) != nil else { throw .missing(place) }
    if let libraryID { try requireOwner(of: connection, libraryID: libraryID) }
    return try connection.first(Setting.read, key) { $0.text(0) }
  }
}

extension CatalogError {
  static func missing(_ place: CatalogPlace) -> CatalogError {
    CatalogError(
      .missing,
      "The database “\(place.name)” has no catalog yet. The first `pipeline run` on the machine that takes the files "
        + "makes it, or `pipeline rebuild-catalog` there, if the library had one before.",
      path: place.name, mayPass: true)
  }
}

extension PostgreSQLDriver {
  /// Refuses a standby, and a server or user that may only read.
  func requireWritable() throws(CatalogError) {
    guard try isReadOnly() else { return }
    throw CatalogError(
      .readOnly,
      "The catalog “\(address)” can only be read: its server is a standby, or read-only.",
      mayPass: true)
  }

  func isReadOnly() throws(CatalogError) -> Bool {
    try first(
      "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'"
    ) { $0.int64(0) != 0 } ?? true
  }
}
