import CSQLite
package import PipelineModel

/// The records and the ledger in SQLite: the one connection that writes.
///
/// All work is done on one serial queue, and each method is one transaction
/// that is durable when it returns. A method called from within another traps.
/// Whoever opens a catalog holds the library's lock: there is never a second
/// writer.
package final class Catalog: Ledger, Sendable {
  let access: SerialAccess<CatalogWriter>
  /// The catalog's file.
  package let path: BytePath

  private init(_ connection: sending Connection) throws(CatalogError) {
    path = connection.path
    access = SerialAccess(
      label: "pipeline.catalog", try CatalogWriter(connection))
  }

  /// Makes a new catalog for a library.
  ///
  /// A file that an interrupted `create` left is taken over.
  ///
  /// - Parameters:
  ///   - libraryID: the library's identity; `open` must be given the same.
  ///   - isDraft: whether nobody needs the file if the process ends before `finishDraft`: then
  ///     nothing of it is durable before, and after an error it is of no use.
  /// - Throws: `.database` if there is a catalog already.
  package static func create(
    at file: BytePath, libraryID: String, isDraft: Bool = false
  ) throws(CatalogError) -> Catalog {
    try Catalog(connectNew(file, libraryID: libraryID, isDraft: isDraft))
  }

  /// Makes a catalog of a draft and closes it; its file is the caller's to flush.
  package func finishDraft() throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      try writer.connection.execute("PRAGMA locking_mode = NORMAL")
      try writer.connection.prepareWriting()
      writer.connection.close()
    }
  }

  /// Opens the catalog of a library and brings an older one up to date.
  ///
  /// - Throws: `.missing`, `.corrupt` (also if it belongs to another library)
  ///   and `.newerVersion`; none of these has written anything.
  package static func open(
    at file: BytePath, libraryID: String
  ) throws(CatalogError) -> Catalog {
    try Catalog(connect(file, libraryID: libraryID))
  }

  /// Returns the library that a catalog says it belongs to; changes nothing in it.
  ///
  /// - Throws: `.missing`, `.corrupt` and `.newerVersion`.
  package static func libraryID(of file: BytePath) throws(CatalogError) -> String? {
    try setting(Setting.library, of: file)
  }

  /// Returns the stages as they were configured last, in their order; changes nothing.
  ///
  /// - Throws: `.missing`, `.corrupt` and `.newerVersion`.
  package static func stages(of file: BytePath) throws(CatalogError) -> [StageDefinition] {
    StageDefinition.all(json: try setting(Setting.stages, of: file) ?? "[]")
  }

  /// Reads a setting of a catalog, whatever its version.
  private static func setting(
    _ key: String, of file: BytePath
  ) throws(CatalogError) -> String? {
    // Without a log nobody writes, and reading with locks would leave one.
    let isLogged = CatalogReader.hasLog(file)
    let connection = try Connection(file, mode: isLogged ? .read : .readImmutable)
    // Left as it is, its log included.
    pipeline_sqlite_configure(connection.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    _ = try Schema.check(connection)
    return try connection.first(Setting.read, key) { $0.text(0) }
  }

  /// Closes the file; the catalog must not be used again.
  package func close() throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in writer.connection.close() }
  }

  /// Runs a body as one transaction on the catalog's queue.
  @discardableResult
  func write<Value>(
    _ body: (CatalogWriter) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.sync { (writer) throws(CatalogError) in
      try writer.connection.transaction { () throws(CatalogError) in try body(writer) }
    }
  }

  /// Runs a body that only reads on the catalog's queue.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.sync { (writer) throws(CatalogError) in try body(writer.connection) }
  }
}

extension Catalog {
  private static func connectNew(
    _ file: BytePath, libraryID: String, isDraft: Bool
  ) throws(CatalogError) -> Connection {
    let connection = try Connection(file, mode: .create)
    guard case .empty = try Schema.condition(of: connection) else {
      throw CatalogError(
        .database, "There is a file “\(file)” already, and it is not empty.", path: file)
    }
    if isDraft { try connection.prepareDraft() } else { try connection.prepareWriting() }
    try connection.transaction { () throws(CatalogError) in
      try Schema.migrate(connection, from: 0)
      try connection.execute(Setting.write, Setting.library, libraryID)
      try connection.execute(Setting.write, Setting.manifestPosition, "0")
      try connection.execute(Setting.write, Setting.deletions, "1")
    }
    return connection
  }

  private static func connect(
    _ file: BytePath, libraryID: String
  ) throws(CatalogError) -> Connection {
    let connection = try Connection(file, mode: .write)
    let version: Int
    do throws(CatalogError) {
      version = try Schema.check(connection)
      let owner = try connection.first(Setting.read, Setting.library) { $0.text(0) }
      guard owner == libraryID else {
        throw CatalogError(
          .corrupt,
          "The catalog “\(file)” belongs to the library \(owner ?? "“”"), not to \(libraryID). "
            + CatalogError.advice,
          path: file)
      }
    } catch {
      // A file that is refused is left as it was, its log included.
      pipeline_sqlite_configure(connection.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
      throw error
    }
    try connection.prepareWriting()
    if version < Schema.version { try update(connection, from: version) }
    return connection
  }

  /// Brings an older file up to date. An index over all assets is sorted in a temporary file, because
  /// there may be too many for the memory; or there, where no such file can be made.
  private static func update(
    _ connection: Connection, from version: Int
  ) throws(CatalogError) {
    func migrate(sortingIn place: String) throws(CatalogError) {
      try connection.execute("PRAGMA temp_store = \(place)")
      try connection.transaction { () throws(CatalogError) in
        try Schema.migrate(connection, from: version)
      }
    }
    do throws(CatalogError) {
      try migrate(sortingIn: "FILE")
    } catch  where error.sqliteCode.map({ $0 & 0xFF }) != SQLITE_BUSY {
      try migrate(sortingIn: "MEMORY")
    }
    try connection.execute("PRAGMA temp_store = MEMORY")
  }
}
