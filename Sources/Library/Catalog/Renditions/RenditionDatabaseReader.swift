import PipelineModel
import Records

/// Reads the bytes in the database of renditions, beside the process that writes them.
///
/// Opens the file when first asked, and again if its name has come to another file. One thread uses it at a time.
final class RenditionDatabaseReader {
  private let path: BytePath
  /// Whether to read without locks, as from a folder that can't be written.
  private let isImmutable: Bool
  private var connection: Connection?
  private var node: FileNode?

  /// - Parameter catalog: the catalog's file.
  init(beside catalog: BytePath, immutable: Bool) {
    path = catalog.parent.appending(RenditionDatabase.name)
    isImmutable = immutable
  }

  /// Reads with a body; returns `nil` if the file is missing, empty or damaged: what it held is
  /// made again.
  func read<Value>(
    _ body: (Connection) throws(CatalogError) -> Value?
  ) throws(CatalogError) -> Value? {
    do throws(CatalogError) {
      guard let connection = try opened() else { return nil }
      return try body(connection)
    } catch {
      guard error.code == .corrupt || error.code == .missing else { throw error }
      close()
      return nil
    }
  }

  func close() {
    connection?.close()
    connection = nil
    node = nil
  }

  private func opened() throws(CatalogError) -> Connection? {
    let found = try FileNode.at(path)
    if let connection, found == node { return connection }
    close()
    guard found != nil else { return nil }
    guard let opened = try open() else { return nil }
    connection = opened
    node = found
    return opened
  }

  /// Returns `nil` for a file that is still empty: one that is being made has its tables soon.
  private func open() throws(CatalogError) -> Connection? {
    func open(_ mode: Connection.Mode) throws(CatalogError) -> Connection? {
      let connection = try Connection(path, mode: mode, of: .renditions)
      // Enough for the upper pages of the index; the kernel keeps the bytes.
      try connection.execute("PRAGMA cache_size = -256")
      return try RenditionSchema.check(connection) ? connection : nil
    }
    guard isImmutable else { return try open(.read) }
    guard CatalogReader.hasLog(path) else { return try open(.readImmutable) }
    do throws(CatalogError) {
      return try open(.read)
    } catch {
      guard error.code == .readOnly || error.code == .missing else { throw error }
      // Without what is in the log alone: bytes that are not whole are taken for missing.
      return try open(.readImmutable)
    }
  }
}
