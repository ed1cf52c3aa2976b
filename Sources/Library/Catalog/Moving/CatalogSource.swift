import PipelineModel
package import Records

/// A catalog that is to be moved, held so that no other process changes it until it is closed.
///
/// The caller has the library's lock, which is enough for a file. One in PostgreSQL is locked there as well, and those
/// who work beside wait for their turn all the time.
package final class CatalogSource {
  package let place: CatalogPlace
  let connection: Connection
  /// The database that has the bytes of renditions; `nil` if the catalog itself has them.
  private let renditions: RenditionDatabaseReader?

  /// Opens the catalog of a library.
  ///
  /// - Throws: `.missing`, `.corrupt` (also if it is another library's), `.newerVersion`, `.locked`, and `.database`
  ///   if it is older than this program, which `pipeline run` changes.
  package init(_ place: CatalogPlace, libraryID: String) throws(CatalogError) {
    self.place = place
    switch place {
    case .file(let file):
      connection = try Self.open(file)
      renditions = RenditionDatabaseReader(beside: file, immutable: false)
    case .database(let address):
      connection = try Self.open(address, place)
      renditions = nil
    }
    do throws(CatalogError) {
      try Catalog.requireOwner(of: connection, libraryID: libraryID)
    } catch {
      connection.sqlite?.keepLog()
      connection.close()
      throw error
    }
  }

  private static func open(_ file: BytePath) throws(CatalogError) -> Connection {
    let connection = try Connection(file, mode: .write)
    do throws(CatalogError) {
      let version = try Schema.check(connection)
      guard version == Schema.version, try !connection.hasBytesTable() else {
        throw .outdated(.file(file))
      }
    } catch {
      connection.sqlite?.keepLog()
      connection.close()
      throw error
    }
    return connection
  }

  private static func open(
    _ address: DatabaseLocation, _ place: CatalogPlace
  ) throws(CatalogError) -> Connection {
    let driver = try PostgreSQLDriver(address, role: .writing)
    let connection = Connection(driver, place)
    do throws(CatalogError) {
      try driver.requireWritable()
      try driver.lock()
      guard let version = try PostgreSQLSchema.version(in: connection) else {
        throw .missing(place)
      }
      guard version == PostgreSQLSchema.version else { throw .outdated(place) }
      try driver.keepTurn()
      // Between two pages of a table, whatever takes them may be slow.
      try connection.executeScript("SET idle_in_transaction_session_timeout = 0")
    } catch {
      connection.close()
      throw error
    }
    return connection
  }

  package func close() {
    renditions?.close()
    connection.close()
  }

  /// As `CatalogReader.participantBeside`.
  package func participantBeside() throws(CatalogError) -> ParticipantRecord? {
    try connection.participantBeside()
  }

  /// Refuses a user who may not give the catalog another name, which is known only at the end otherwise.
  ///
  /// Source: PostgreSQL's documentation, “ALTER SCHEMA”.
  package func requireRenameable() throws(CatalogError) {
    guard let driver = connection.postgreSQL else { return }
    let mayRename = try driver.first(
      """
      SELECT has_database_privilege(current_database(), 'CREATE') AND pg_has_role(nspowner, 'USAGE')
      FROM pg_namespace WHERE nspname = '\(PostgreSQLSchema.name)'
      """
    ) { $0.int64(0) != 0 }
    guard mayRename == true else {
      throw CatalogError(
        .readOnly,
        "The catalog “\(place.name)” can't be set aside: its user has to own the schema “\(PostgreSQLSchema.name)”, and "
          + "needs the right CREATE on the database. Nothing was moved.", path: place.name)
    }
  }

  /// Refuses to go on if the connection was lost, and with it what keeps others away.
  package func requireHeld() throws(CatalogError) {
    guard connection.postgreSQL != nil else { return }
    _ = try connection.first("SELECT 1") { $0.int(0) }
    try requireSameConnection()
  }

  private func requireSameConnection() throws(CatalogError) {
    guard connection.postgreSQL?.connectionNumber == 1 else {
      throw CatalogError(
        .unreachable,
        "The connection to the catalog “\(place.name)” was lost, so others may have changed it. It is where it "
          + "was; move it again.", path: place.name)
    }
  }

  /// Gives a catalog in PostgreSQL another name, so that nobody takes it for the one in use, and closes it. Of a file the
  /// caller renames all that belong to it.
  ///
  /// - Returns: the new name; `nil` for a file.
  package func setAside() throws(CatalogError) -> String? {
    defer { close() }
    guard connection.dialect == .postgreSQL else { return nil }
    return try connection.transaction { () throws(CatalogError) in
      // Others may have changed it since it was copied.
      try requireSameConnection()
      return try PostgreSQLSchema.setAside(in: connection, at: Timestamp.now.microseconds)
    }
  }

  /// Returns the bytes of a rendition that is not a file; `nil` if they are missing, or can't be read.
  func bytes(of rendition: Int64, _ key: RenditionKey) throws(CatalogError) -> [UInt8]? {
    guard let renditions else {
      do throws(CatalogError) {
        return try connection.bytes(of: rendition)
      } catch  where error.code == .unreadableBytes {
        return nil
      }
    }
    return try renditions.read { (database) throws(CatalogError) in
      try database.keptRendition(key)
    }
  }
}

extension CatalogError {
  fileprivate static func outdated(_ place: CatalogPlace) -> CatalogError {
    CatalogError(
      .database,
      "The catalog “\(place.name)” is of an older version of this program. “pipeline run” updates it; then move it.",
      path: place.name)
  }
}
