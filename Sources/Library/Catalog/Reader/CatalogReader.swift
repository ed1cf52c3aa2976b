import CSQLite
package import PipelineModel
package import Records

/// A reader of the catalog, concurrent with the writer or without one.
///
/// Methods may be called from any thread, and from within the body of another method.
/// Each sees one snapshot. Those that call a body for each row read a page at a time,
/// and hold no snapshot while the body runs; otherwise a stalled body would keep the
/// write-ahead log from being emptied.
package final class CatalogReader: Sendable {
  let access: SerialAccess<Connection>
  /// The database that has the bytes of renditions; `nil` if the catalog itself has them.
  let renditions: SerialAccess<RenditionDatabaseReader>?
  let place: CatalogPlace
  var path: BytePath { place.name }
  static let pageSize = 512

  private init(_ connection: sending Connection, immutable: Bool) {
    place = connection.place
    renditions =
      if case .file(let file) = connection.place {
        SerialAccess(RenditionDatabaseReader(beside: file, immutable: immutable))
      } else {
        nil
      }
    access = SerialAccess(connection)
  }

  /// Opens a catalog for reading.
  ///
  /// Reads with SQLite's locks unless `immutable`, which may leave an empty `-wal`
  /// and a `-shm` file.
  ///
  /// - Parameter immutable: reads without locks and creates no files; only for a
  ///   folder that can't be written, and while nobody holds the library's lock.
  /// - Throws: `.missing`, `.corrupt`, `.newerVersion`, and `.readOnly` if
  ///   reading requires a writable folder.
  package static func open(
    at file: BytePath, immutable: Bool
  ) throws(CatalogError) -> CatalogReader {
    // Immutable mode ignores the log. If there is one, use its index, which a copy
    // of a library in use also has.
    let isLogged = immutable && hasLog(file)
    let mode: Connection.Mode = immutable && !isLogged ? .readImmutable : .read
    do throws(CatalogError) {
      let connection = try Connection(file, mode: mode)
      let version = try Schema.check(connection)
      guard version == Schema.version else {
        throw CatalogError(
          .database,
          "The catalog “\(file)” has the older version \(version). “pipeline run” updates it.",
          path: file)
      }
      if let driver = connection.sqlite { try NearFunction.register(on: driver) }
      return CatalogReader(connection, immutable: immutable)
    } catch  where isLogged && (error.code == .readOnly || error.code == .missing) {
      throw CatalogError(
        .readOnly,
        "The catalog “\(file)” was not closed: part of it is in “\(file)-wal”, which can be read "
          + "only in a writable folder. Copy both to one.",
        path: file, databaseCode: error.databaseCode)
    }
  }

  /// Opens a catalog in a file or a database.
  ///
  /// - Parameters:
  ///   - immutable: as above; without a meaning for a database.
  ///   - isConfined: whether a connection that is lost is not made anew, and a statement not ended from outside:
  ///     for a process that can't connect. By default it is.
  package static func open(
    at place: CatalogPlace, immutable: Bool, isConfined: Bool = false
  ) throws(CatalogError) -> CatalogReader {
    if case .file(let file) = place { return try open(at: file, immutable: immutable) }
    let connection = try Connection.reading(place, isConfined: isConfined)
    guard let version = try PostgreSQLSchema.version(in: connection) else { throw .missing(place) }
    guard version == PostgreSQLSchema.version else {
      throw CatalogError(
        .database,
        "The catalog “\(place.name)” has the older version \(version). “pipeline run” updates it.",
        path: place.name)
    }
    return CatalogReader(connection, immutable: false)
  }

  /// Closes the file; do not use the reader afterwards.
  package func close() throws(CatalogError) {
    try renditions?.sync { (database) throws(CatalogError) in database.close() }
    try access.sync { (connection) throws(CatalogError) in connection.close() }
  }

  /// Refuses the catalog of another library.
  ///
  /// - Throws: `.corrupt` if it is one.
  package func requireOwner(_ libraryID: String) throws(CatalogError) {
    try read { (connection) throws(CatalogError) in
      try Catalog.requireOwner(of: connection, libraryID: libraryID)
    }
  }

  /// Lets a server end statements that take longer; does nothing for a file.
  package func limitStatements(to limit: Duration) throws(CatalogError) {
    try access.sync { (connection) throws(CatalogError) in
      try connection.postgreSQL?.limitStatements(to: limit)
    }
  }

  /// The number of the catalog in its database, another one after `rebuild-catalog`; `nil` for a file.
  package var catalogNumber: Int64? {
    get throws(CatalogError) {
      guard case .database = place else { return nil }
      return try read { (connection) throws(CatalogError) in
        try PostgreSQLSchema.number(in: connection)
      }
    }
  }

  /// Opens the database of renditions, if there is one, reads a little, and keeps it open.
  ///
  /// For processes that may not write: they can't make the files that SQLite shares between processes,
  /// and these exist as long as any process has the database open.
  package func keepRenditionsOpen() throws(CatalogError) {
    try renditions?.sync { (database) throws(CatalogError) in
      _ = try database.read { (connection) throws(CatalogError) in
        try connection.hasRow("SELECT 1 FROM sqlite_schema")
      }
    }
  }

  /// Returns whether a non-empty write-ahead log exists.
  static func hasLog(_ file: BytePath) -> Bool {
    guard let system = sqlite3_vfs_find(nil) else { return false }
    let log = file.bytes + Array("-wal".utf8) + [0]
    var exists: Int32 = 0
    log.withUnsafeBytes { bytes in
      let name = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      // SQLite reports an empty file as missing.
      _ = system.pointee.xAccess?(system, name, SQLITE_ACCESS_EXISTS, &exists)
    }
    return exists != 0
  }

  /// Runs a read-only body within one snapshot.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.syncReentrantly { (connection) throws(CatalogError) in
      if connection.isInTransaction { return try body(connection) }
      return try connection.transaction(.reading) { () throws(CatalogError) in
        try body(connection)
      }
    }
  }

  /// Runs a short body whose reads all see one snapshot.
  package func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
    try read { (_) throws(CatalogError) in Result { try body() } }.get()
  }

  /// Runs a body whose reads end with an error of code `interrupted` once a condition holds; nothing else
  /// is read by this reader meanwhile.
  ///
  /// - Parameter isInterrupted: asked often; must not use the reader.
  package func interruptible<Value>(
    when isInterrupted: @escaping @Sendable () -> Bool, _ body: () throws -> Value
  ) throws -> Value {
    try access.syncReentrantly { (connection) throws(CatalogError) in
      connection.interruptible(when: isInterrupted) { Result { try body() } }
    }.get()
  }

  /// The manifest position up to which the catalog has applied facts.
  package var lastManifestPosition: Int64 {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in try connection.manifestPosition() }
    }
  }
}
