import PipelineModel

/// The sightings of a source in the byte order of their paths, one at a time.
///
/// It has a connection and a snapshot of its own: what the catalog records
/// meanwhile is not seen. For one thread at a time. The snapshot keeps the
/// write-ahead log from being emptied, so it is not to be kept for long.
package final class SightingCursor {
  private enum Phase {
    case open(Connection, Statement)
    case ended
  }

  private let source: BytePath
  private var phase: Phase

  init(catalog: BytePath, source: BytePath, awaitingRemoval: Bool) throws(CatalogError) {
    self.source = source
    let connection = try Connection(catalog, mode: .read)
    do throws(CatalogError) {
      let condition = awaitingRemoval ? "AND awaits_removal = 1" : ""
      let statement = try connection.take(
        """
        SELECT \(Connection.sightingColumns) FROM sighting
        WHERE source = (SELECT id FROM source WHERE path = ?) \(condition) ORDER BY path
        """)
      // The snapshot is taken now, not at the first row.
      try connection.execute("BEGIN")
      _ = try connection.sourceID(source)
      try statement.bind([source])
      phase = .open(connection, statement)
    } catch {
      connection.close()
      throw error
    }
  }

  deinit { close() }

  /// Returns the next sighting, or `nil` behind the last one.
  package func next() throws(CatalogError) -> Sighting? {
    guard case .open(_, let statement) = phase else { return nil }
    do throws(CatalogError) {
      if try statement.step() { return try statement.sighting(source: source) }
      close()
      return nil
    } catch {
      close()
      throw error
    }
  }

  /// Lets the snapshot go; done by itself behind the last sighting.
  package func close() {
    guard case .open(let connection, let statement) = phase else { return }
    statement.reset()
    connection.rollBack()
    connection.close()
    phase = .ended
  }
}
