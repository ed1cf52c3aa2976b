package import PipelineModel

/// The sightings of a source that have a row, in the byte order of their paths, one at a time.
///
/// It reads a page at a time on a connection of its own, and holds no snapshot
/// between pages: a scan may take hours, and a snapshot that old would keep the
/// write-ahead log from being emptied. What is recorded meanwhile is seen if its
/// path lies behind the page. For one thread at a time.
package final class SightingCursor {
  private enum Phase {
    case open(Connection, Statement)
    case ended
  }

  private static let pageSize = 1024

  private let source: BytePath
  private var phase: Phase
  /// What is left of the page, the next one last.
  private var page: [Sighting] = []
  /// The last path that was read; no path is empty, so all lie behind that.
  private var last = BytePath(bytes: [])
  private var isAtEnd = false

  init(catalog: BytePath, source: BytePath, awaitingRemoval: Bool) throws(CatalogError) {
    self.source = source
    let connection = try Connection(catalog, mode: .read)
    do throws(CatalogError) {
      let statement = try connection.take(Self.page(awaitingRemoval: awaitingRemoval))
      phase = .open(connection, statement)
    } catch {
      connection.close()
      throw error
    }
  }

  deinit { close() }

  /// The statement that reads a page, given the source and the last path.
  static func page(awaitingRemoval: Bool) -> String {
    """
    SELECT \(Connection.sightingColumns) FROM sighting
    WHERE source = (SELECT id FROM source WHERE path = ?) AND path > ?
      \(awaitingRemoval ? "AND awaits_removal = 1" : "")
    ORDER BY path LIMIT \(pageSize)
    """
  }

  /// Returns the next sighting, or `nil` behind the last one.
  package func next() throws(CatalogError) -> Sighting? {
    if let sighting = page.popLast() { return sighting }
    guard !isAtEnd, case .open(_, let statement) = phase else { return nil }
    do throws(CatalogError) {
      try statement.bind([source, last])
      while try statement.step() { page.append(try statement.sighting(source: source)) }
      statement.reset()
    } catch {
      close()
      throw error
    }
    guard let lastRead = page.last else {
      isAtEnd = true
      return nil
    }
    last = lastRead.path
    page.reverse()
    return page.popLast()
  }

  /// Returns what an asset implies of a path that has no row.
  package func impliedSighting(_ path: BytePath) throws(CatalogError) -> Sighting? {
    guard case .open(let connection, _) = phase else { return nil }
    return try connection.impliedSighting(source: source, path: path)
  }

  /// Closes the connection.
  package func close() {
    guard case .open(let connection, let statement) = phase else { return }
    statement.reset()
    connection.close()
    phase = .ended
  }
}
