import Glibc
import PipelineModel
import Records

/// The bytes of renditions that are not files, in `renditions.sqlite` beside SQLite's catalog, with the only
/// connection that writes to it.
///
/// Apart from the catalog, which would be ten times as large: it is copied and checked as a whole. The file
/// is opened when first needed. One that is missing is made, and a damaged one is moved aside: all
/// that it holds can be made again. Belongs to the catalog's writer.
final class RenditionDatabase {
  static let name = BytePath("renditions.sqlite")
  private static let logName = BytePath("renditions.sqlite-wal")

  let path: BytePath
  /// Gives a new file its owner and permissions.
  private let model: BytePath
  private var connection: Connection?
  private var node: FileNode?
  /// The write-ahead log; `nil` also if it was removed before it was seen.
  private var log: FileNode?
  /// Whether an empty database was made since this was last cleared: rows may name bytes that it lacks.
  var isMadeAnew = false
  /// Where a damaged file was moved.
  private(set) var damaged: BytePath?
  /// Called before an empty database is made, not within a transaction of the catalog.
  private let willMake: () throws(CatalogError) -> Void

  init(beside catalog: BytePath, willMake: @escaping () throws(CatalogError) -> Void) {
    model = catalog
    self.willMake = willMake
    path = catalog.parent.appending(Self.name)
  }

  /// Runs a body as one transaction, which is durable when this returns; makes the file if need be.
  ///
  /// - Parameter body: called again, with an empty file, if the file turns out to be damaged.
  func write(_ body: (Connection) throws(CatalogError) -> Void) throws(CatalogError) {
    do throws(CatalogError) {
      try transaction(body)
    } catch {
      guard error.code == .corrupt, error.path == path else { throw error }
      try setAside()
      try transaction(body)
    }
  }

  private func transaction(
    _ body: (Connection) throws(CatalogError) -> Void
  ) throws(CatalogError) {
    let connection = try opened()
    try connection.transaction { () throws(CatalogError) in try body(connection) }
  }

  /// Removes bytes; does not make a missing file.
  ///
  /// What a power failure brings back, `gc` finds, so nothing is flushed for it. Of a damaged file nothing
  /// is removed.
  func remove(_ keys: [RenditionKey]) throws(CatalogError) {
    guard !keys.isEmpty, try FileNode.at(path) != nil else { return }
    do throws(CatalogError) {
      try remove(keys, try opened())
    } catch {
      guard error.code == .corrupt, error.path == path else { throw error }
    }
  }

  private func remove(
    _ keys: [RenditionKey], _ connection: Connection
  ) throws(CatalogError) {
    try connection.execute("PRAGMA synchronous = NORMAL")
    defer { restoreFlushing(of: connection) }
    try connection.transaction { () throws(CatalogError) in
      for key in keys { try connection.removeKeptRendition(key) }
    }
  }

  /// Closes a connection that would no longer flush its commits.
  private func restoreFlushing(of connection: Connection) {
    do throws(CatalogError) {
      try connection.execute("PRAGMA synchronous = FULL")
    } catch {
      close()
    }
  }

  /// Reads with a body; returns `nil` if the file is missing or damaged.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value?
  ) throws(CatalogError) -> Value? {
    guard try FileNode.at(path) != nil else { return nil }
    do throws(CatalogError) {
      return try body(try opened())
    } catch {
      guard error.code == .corrupt else { throw error }
      return nil
    }
  }

  /// Whether there is a file, or something else in its place.
  func isThere() throws(CatalogError) -> Bool { try FileNode.at(path) != nil }

  func close() {
    if let connection {
      // So that whoever removes the log later, while a reader keeps it, removes nothing. What this can't
      // save is in the log, or lost, as if the whole file had been removed.
      _ = try? connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }
    connection?.close()
    connection = nil
    node = nil
    log = nil
  }

  /// The connection to the file that has the name now.
  ///
  /// If somebody removed its log, only this connection sees what was written. It is brought into the file.
  private func opened() throws(CatalogError) -> Connection {
    let found = try FileNode.at(path)
    if let connection, found == node, try hasLog() { return connection }
    close()
    if found == nil { try prepareMaking() }
    let opened = try Connection(path, mode: .create, of: .renditions, permissionsOf: model)
    do throws(CatalogError) {
      let isMade = try RenditionSchema.check(opened)
      if found != nil, !isMade { try prepareMaking() }
      try opened.sqlite?.prepareWritingRenditions()
      if !isMade { try RenditionSchema.create(in: opened) }
    } catch {
      opened.sqlite?.keepLog()
      opened.close()
      throw error
    }
    node = try FileNode.at(path)
    log = try foundLog()
    connection = opened
    return opened
  }

  private func foundLog() throws(CatalogError) -> FileNode? {
    try FileNode.at(path.parent.appending(Self.logName))
  }

  /// Whether the connection's log still has its name.
  private func hasLog() throws(CatalogError) -> Bool {
    guard let log else { return false }
    return try log == foundLog()
  }

  private func prepareMaking() throws(CatalogError) {
    try willMake()
    isMadeAnew = true
  }

  /// Renames a damaged file and what belongs to it, so that nobody takes them for the database.
  private func setAside() throws(CatalogError) {
    close()
    // First, because without its log the file may look whole.
    try prepareMaking()
    let old = path.parent.appending("renditions-\(Timestamp.now.microseconds).old")
    damaged = old
    // The log first: it would be taken for the new file's.
    for suffix in ["-shm", "-wal", ""] {
      let from = BytePath(bytes: path.bytes + Array(suffix.utf8))
      let to = BytePath(bytes: old.bytes + Array(suffix.utf8))
      let result = from.withCString { from in to.withCString { to in rename(from, to) } }
      let code = errno
      guard result == 0 || code == ENOENT else {
        throw CatalogError(
          .readOnly,
          "The damaged “\(from)” can't be moved aside: \(String(cString: strerror(code))). "
            + "Move it away.",
          path: from)
      }
    }
  }
}
