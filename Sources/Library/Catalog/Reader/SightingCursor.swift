package import PipelineModel
package import Records

/// A cursor over the sighting rows of a source, in the byte order of their paths.
///
/// Reads a page at a time on its own connection, and holds no snapshot between
/// pages: a scan may take hours, and a snapshot that old would keep the
/// write-ahead log from being emptied. Includes rows recorded in the meantime if
/// their path follows the current page. Not thread-safe.
package final class SightingCursor {
  private enum Phase {
    case open(Connection, Statement)
    case ended
  }

  private static let pageSize = 1024

  private let source: BytePath
  private var phase: Phase
  /// The rest of the page in reverse order.
  private var page: [Sighting] = []
  /// The last path read; initially empty, which sorts before all paths.
  private var last = BytePath(bytes: [])
  private var isAtEnd = false

  init(catalog: CatalogPlace, source: BytePath) throws(CatalogError) {
    self.source = source
    let connection = try Connection.reading(catalog)
    do throws(CatalogError) {
      let statement = try connection.preparedStatement(Self.pageQuery)
      phase = .open(connection, statement)
    } catch {
      connection.close()
      throw error
    }
  }

  deinit { close() }

  /// The statement that reads a page; parameters are the source and the last path.
  static let pageQuery = """
    SELECT \(Connection.sightingColumns) FROM sighting
    WHERE source = (SELECT id FROM source WHERE path = ?) AND path > ?
    ORDER BY path LIMIT \(pageSize)
    """

  /// Returns the next sighting, or `nil` at the end.
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

  /// Returns the sighting that an asset implies for a path without a row.
  package func impliedSighting(_ path: BytePath) throws(CatalogError) -> Sighting? {
    guard case .open(let connection, _) = phase else { return nil }
    return try connection.impliedSighting(source: source, path: path)
  }

  package func close() {
    guard case .open(let connection, let statement) = phase else { return }
    statement.reset()
    connection.close()
    phase = .ended
  }
}
