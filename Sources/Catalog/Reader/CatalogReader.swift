import CSQLite
package import PipelineModel

/// Reading the catalog, beside the writer or without one.
///
/// Methods may be called from any queue, and from within the body of another one.
/// Each sees one snapshot; those that give rows to a body read a page at a time, and
/// hold none while the body runs: somebody who stalls in the middle of a list would
/// else keep the write-ahead log from being emptied.
package final class CatalogReader: Sendable {
  let access: SerialAccess<Connection>
  let path: BytePath
  /// How many rows are read together.
  static let pageSize = 512

  private init(_ connection: sending Connection, path: BytePath) {
    self.path = path
    access = SerialAccess(label: "pipeline.catalog.reader", connection)
  }

  /// Opens a catalog for reading.
  ///
  /// Beside a writer, or where files can be made beside the catalog, it is read
  /// with SQLite's locks; that may leave an empty `-wal` and a `-shm` file.
  ///
  /// - Parameter immutable: for a folder that can't be written, and only while
  ///   nobody holds the library's lock: reads without locks and makes no files.
  /// - Throws: `.missing`, `.corrupt`, `.newerVersion`, and `.readOnly` where
  ///   the folder would have to be written.
  package static func open(
    at file: BytePath, immutable: Bool
  ) throws(CatalogError) -> CatalogReader {
    // Immutable mode does not see what is in the log only: then the log's own
    // index, which a copy of a living library has too, must serve.
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
      return CatalogReader(connection, path: file)
    } catch  where isLogged && (error.code == .readOnly || error.code == .missing) {
      throw CatalogError(
        .readOnly,
        "The catalog “\(file)” was not closed: part of it is in “\(file)-wal”, which can be read "
          + "only where files can be made. Copy both to such a folder.",
        path: file, sqliteCode: error.sqliteCode)
    }
  }

  /// Closes the file; the reader must not be used again.
  package func close() throws(CatalogError) {
    try access.sync { (connection) throws(CatalogError) in connection.close() }
  }

  /// Whether there is a write-ahead log that is not empty.
  static func hasLog(_ file: BytePath) -> Bool {
    guard let system = sqlite3_vfs_find(nil) else { return false }
    let log = file.bytes + Array("-wal".utf8) + [0]
    var exists: Int32 = 0
    log.withUnsafeBytes { bytes in
      let name = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      // For an existing file of no bytes, too, SQLite's answer is no.
      _ = system.pointee.xAccess?(system, name, SQLITE_ACCESS_EXISTS, &exists)
    }
    return exists != 0
  }

  /// Runs a body that reads within one snapshot.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.syncReentrantly { (connection) throws(CatalogError) in
      if connection.isInTransaction { return try body(connection) }
      return try connection.transaction("BEGIN") { () throws(CatalogError) in
        try body(connection)
      }
    }
  }
}

extension CatalogReader {
  /// How far the manifest is contained in the catalog.
  package var lastManifestPosition: Int64 {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in try connection.manifestPosition() }
    }
  }
}
