import CSQLite
package import PipelineModel
package import Records

/// The records and the ledger in SQLite or PostgreSQL, on the only writing connection.
///
/// One thread at a time uses it. Each method is one transaction that is
/// durable when it returns. Calling a method from within another traps.
/// The caller must hold the library's lock, so there is never a second writer, unless it works beside the holder.
package final class Catalog: Ledger, CatalogSettings, Sendable {
  let access: SerialAccess<CatalogWriter>
  package let place: CatalogPlace
  /// What messages call it.
  package var path: BytePath { place.name }
  package let isBesideOthers = false
  package var isOnServer: Bool { if case .database = place { true } else { false } }
  let listener = ParticipantListener()

  private init(
    _ connection: sending Connection, isDraft: Bool = false, participation: Participation? = nil
  ) throws(CatalogError) {
    place = connection.place
    access = SerialAccess(
      try CatalogWriter(connection, isDraft: isDraft, participation: participation))
    try access.sync { [listener] (writer) throws(CatalogError) in
      writer.connection.postgreSQL?.tellAbsence = { error in
        listener.hear(error.map { .serverAway($0) } ?? .serverBack)
      }
    }
    try beginAttending()
  }

  private convenience init(
    _ address: DatabaseLocation, _ connection: sending Connection, isTaker: Bool,
    timing: ParticipationTiming
  ) throws(CatalogError) {
    let participation = try Self.join(connection, address, isTaker: isTaker, timing: timing)
    do throws(CatalogError) {
      try self.init(connection, participation: participation)
    } catch {
      participation.leave()
      throw error
    }
  }

  /// Creates a catalog for a library, reusing an empty file from an interrupted `create`.
  ///
  /// - Parameters:
  ///   - libraryID: the library's identity; pass the same to `open`.
  ///   - isDraft: whether the file is useless until `finishDraft`: nothing is durable before,
  ///     and after an error the file must be discarded.
  /// - Throws: `.database` if a catalog exists.
  package static func create(
    at file: BytePath, libraryID: String, isDraft: Bool = false
  ) throws(CatalogError) -> Catalog {
    try Catalog(connectNew(file, libraryID: libraryID, isDraft: isDraft), isDraft: isDraft)
  }

  /// The same in a file or a database.
  package static func create(
    at place: CatalogPlace, libraryID: String, isDraft: Bool = false
  ) throws(CatalogError) -> Catalog {
    switch place {
    case .file(let file): return try create(at: file, libraryID: libraryID, isDraft: isDraft)
    case .database(let address):
      let connection = try connect(
        to: place, address, libraryID: libraryID, creating: true, isDraft: isDraft)
      return isDraft
        ? try Catalog(connection, isDraft: true)
        : try Catalog(address, connection, isTaker: true, timing: .standard)
    }
  }

  /// Opens the catalog of a library in a file or a database; migrates an older one.
  ///
  /// - Throws: as for a file; also `.locked` if another process has the database.
  package static func open(
    at place: CatalogPlace, libraryID: String, timing: ParticipationTiming = .standard
  ) throws(CatalogError) -> Catalog {
    switch place {
    case .file(let file): return try open(at: file, libraryID: libraryID)
    case .database(let address):
      return try Catalog(
        address,
        connect(to: place, address, libraryID: libraryID, creating: false, isDraft: false),
        isTaker: true, timing: timing)
    }
  }

  /// Opens the catalog of a library in a database to work on its jobs, beside the process that has the library's lock.
  ///
  /// - Throws: `.missing`, `.corrupt`, and `.newerVersion` also if it is older, as only that process may migrate it.
  package static func openBeside(
    _ place: CatalogPlace, libraryID: String, timing: ParticipationTiming = .standard
  ) throws(CatalogError) -> Catalog {
    guard case .database(let address) = place else {
      throw CatalogError(
        .database, "The catalog “\(place.name)” is a file, which one process at a time changes.",
        path: place.name)
    }
    return try Catalog(
      address, connectBeside(place, address, libraryID: libraryID), isTaker: false, timing: timing)
  }

  /// Turns a draft into a catalog and closes it; the caller flushes the file.
  ///
  /// - Returns: the name under which PostgreSQL keeps the former catalog, if there was one.
  @discardableResult
  package func finishDraft() throws(CatalogError) -> String? {
    try access.sync { (writer) throws(CatalogError) in
      if let driver = writer.connection.sqlite {
        try writer.connection.execute("PRAGMA locking_mode = NORMAL")
        try driver.prepareWriting()
      }
      let former = try writer.transaction { () throws(CatalogError) -> String? in
        try writer.completeCounters()
        guard writer.connection.dialect == .postgreSQL else { return nil }
        return try PostgreSQLSchema.replace(
          in: writer.connection, at: Timestamp.now.microseconds)
      }
      writer.close()
      return former
    }
  }

  /// Closes a draft that nobody finishes, and removes it from a database; the caller removes a file.
  package func discardDraft() throws(CatalogError) {
    try access.sync { (writer) throws(CatalogError) in
      defer { writer.close() }
      guard writer.connection.dialect == .postgreSQL else { return }
      try PostgreSQLSchema.removeDraft(in: writer.connection)
    }
  }

  /// Opens the catalog of a library and migrates an older one.
  ///
  /// - Throws: `.missing`, `.corrupt` (also if it belongs to another library)
  ///   and `.newerVersion`, without having written anything.
  package static func open(at file: BytePath, libraryID: String) throws(CatalogError) -> Catalog {
    try Catalog(connect(file, libraryID: libraryID))
  }

  /// Returns the ID of the library that a catalog belongs to; does not change the file.
  ///
  /// - Throws: `.missing`, `.corrupt` and `.newerVersion`.
  package static func libraryID(of place: CatalogPlace) throws(CatalogError) -> String? {
    try setting(Setting.library, of: place)
  }

  /// The same where there has to be one.
  ///
  /// - Throws: also `.corrupt` if the catalog belongs to no library.
  package static func requireLibraryID(of place: CatalogPlace) throws(CatalogError) -> String {
    if let library = try libraryID(of: place) { return library }
    // As while a backup is being restored.
    let mayPass = if case .database = place { true } else { false }
    throw CatalogError(
      .corrupt, "The catalog “\(place.name)” belongs to no library.", mayPass: mayPass)
  }

  /// Returns the last configured stages, in order; does not change the file.
  ///
  /// - Parameter libraryID: the library whose catalog it must be, if it is in a database.
  /// - Throws: `.missing`, `.corrupt` (also if a database has another library's) and `.newerVersion`.
  package static func stages(
    of place: CatalogPlace, libraryID: String?
  ) throws(CatalogError) -> [StageDefinition] {
    StageDefinition.all(
      json: try setting(Setting.stages, of: place, libraryID: libraryID) ?? "[]")
  }

  private static func setting(
    _ key: String, of place: CatalogPlace, libraryID: String? = nil
  ) throws(CatalogError) -> String? {
    switch place {
    case .file(let file): try setting(key, of: file)
    case .database(let address):
      try setting(key, of: place, address, libraryID: libraryID)
    }
  }

  /// Reads a setting of a catalog of any version.
  private static func setting(_ key: String, of file: BytePath) throws(CatalogError) -> String? {
    // Without a log nobody is writing, and reading with locks would leave one.
    let isLogged = CatalogReader.hasLog(file)
    let connection = try Connection(file, mode: isLogged ? .read : .readImmutable)
    connection.sqlite?.keepLog()
    _ = try Schema.check(connection)
    return try connection.first(Setting.read, key) { $0.text(0) }
  }

  /// Closes the file; do not use the catalog afterwards.
  package func close() throws(CatalogError) {
    listener.listen { _ in }
    try access.sync { (writer) throws(CatalogError) in writer.close() }
  }

  /// Runs a body as one transaction, while no other thread uses the catalog.
  @discardableResult
  func write<Value>(
    _ body: (CatalogWriter) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.sync { (writer) throws(CatalogError) in
      try writer.transaction { () throws(CatalogError) in try body(writer) }
    }
  }

  /// Runs a read-only body, while no other thread uses the catalog.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value
  ) throws(CatalogError) -> Value {
    try access.sync { (writer) throws(CatalogError) in try body(writer.connection) }
  }

  private static func connectNew(
    _ file: BytePath, libraryID: String, isDraft: Bool
  ) throws(CatalogError) -> Connection {
    let connection = try Connection(file, mode: .create)
    guard case .empty = try Schema.condition(of: connection) else {
      throw CatalogError(
        .database, "The file “\(file)” already exists and is not empty.", path: file)
    }
    if isDraft {
      try connection.sqlite?.prepareDraft()
    } else {
      try connection.sqlite?.prepareWriting()
    }
    try connection.transaction { () throws(CatalogError) in
      try Schema.migrate(connection, from: 0)
      try prepareNew(connection, libraryID: libraryID, isDraft: isDraft)
    }
    return connection
  }

  /// Records whose catalog a new one is, and that nothing of it is to be made anew.
  static func prepareNew(
    _ connection: Connection, libraryID: String, isDraft: Bool
  ) throws(CatalogError) {
    try connection.execute(Setting.write, Setting.library, libraryID)
    try connection.execute(Setting.write, Setting.manifestPosition, "0")
    try connection.execute(Setting.write, Setting.deletions, "1")
    try connection.execute(Setting.write, Setting.pictures, PictureProgress.complete.text)
    if !isDraft { try Counters.setComplete(connection) }
  }

  /// Refuses the catalog of another library.
  static func requireOwner(of connection: Connection, libraryID: String) throws(CatalogError) {
    let owner = try connection.first(Setting.read, Setting.library) { $0.text(0) }
    guard owner == libraryID else {
      // Another library's database is in use, whereas a file within the library is of none.
      let advice =
        connection.dialect == .postgreSQL
        ? "Correct \"catalog\" or \"library\"; a new library needs another database. To take files "
          + "for the other one here, set \"joins\" in \"node\", and another folder as \"library\"."
        : CatalogError.advice
      // A backup that is being restored has no rows at first.
      throw CatalogError(
        .corrupt,
        "The catalog “\(connection.path)” belongs to "
          + "\(owner.map { "the library \($0)" } ?? "no library"), not to \(libraryID). \(advice)",
        path: connection.path, mayPass: connection.dialect == .postgreSQL && owner == nil)
    }
  }

  private static func connect(
    _ file: BytePath, libraryID: String
  ) throws(CatalogError) -> Connection {
    let connection = try Connection(file, mode: .write)
    let version: Int
    do throws(CatalogError) {
      version = try Schema.check(connection)
      try requireOwner(of: connection, libraryID: libraryID)
    } catch {
      connection.sqlite?.keepLog()
      throw error
    }
    try connection.sqlite?.prepareWriting()
    if version < Schema.version { try update(connection, from: version) }
    return connection
  }

  /// Migrates an older file.
  ///
  /// Sorts the new index over all assets in a temporary file, since they may not fit into memory;
  /// in memory if no such file can be made.
  private static func update(_ connection: Connection, from version: Int) throws(CatalogError) {
    func migrate(sortingIn place: String) throws(CatalogError) {
      try connection.execute("PRAGMA temp_store = \(place)")
      try connection.transaction { () throws(CatalogError) in
        try Schema.migrate(connection, from: version)
      }
    }
    do throws(CatalogError) {
      try migrate(sortingIn: "FILE")
    } catch  where error.databaseCode.map({ $0 & 0xFF }) != SQLITE_BUSY {
      try migrate(sortingIn: "MEMORY")
    }
    try connection.execute("PRAGMA temp_store = MEMORY")
  }
}
