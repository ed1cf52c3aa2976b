import PipelineModel
package import Records

/// What processes on other machines ask of the one with the library's lock, by the database.
///
/// Only that one writes the manifest, so it makes their changes for them.
extension Catalog {
  /// Asks for a change.
  ///
  /// - Parameter body: what the other end understands.
  package func ask(_ body: String) throws(CatalogError) -> AskedRequest {
    try write { (writer) throws(CatalogError) in
      let participant = writer.participation?.id ?? 0
      let id = try writer.connection.first(
        """
        INSERT INTO request (participant, body, asked_at) VALUES (?, ?, clock_timestamp()) RETURNING id
        """, participant, body
      ) { $0.int64(0) }
      try writer.connection.executeScript(PostgreSQLSchema.notify)
      return AskedRequest(id: id ?? 0, participant: participant)
    }
  }

  /// A request of this process, by its number and that of the process: a catalog that is made anew gives numbers once more.
  package struct AskedRequest: Hashable, Sendable {
    package let id: Int64
    let participant: Int64
  }

  /// What became of a request.
  package enum RequestState: Hashable, Sendable {
    case waiting
    case answered(String)
    /// It was dropped, because others took this process for gone; perhaps after it was answered.
    case dropped
  }

  /// Returns what became of a request of this process.
  package func state(of request: AskedRequest) throws(CatalogError) -> RequestState {
    try read { (connection) throws(CatalogError) in
      try connection.first(
        "SELECT answer FROM request WHERE id = ? AND participant = ?", request.id,
        request.participant
      ) { row in
        row.optional(0, row.text).map { .answered($0) } ?? .waiting
      } ?? .dropped
    }
  }

  /// Takes a request back, unless it was begun.
  ///
  /// - Returns: whether it will not be performed.
  package func withdraw(_ request: AskedRequest) throws(CatalogError) -> Bool {
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        "DELETE FROM request WHERE id = ? AND participant = ? AND NOT begun", request.id,
        request.participant)
      return try !writer.connection.hasRow(
        "SELECT 1 FROM request WHERE id = ? AND participant = ?", request.id, request.participant)
    }
  }

  /// Forgets a request that was answered.
  package func forget(_ request: AskedRequest) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        "DELETE FROM request WHERE id = ? AND participant = ? AND answer IS NOT NULL", request.id,
        request.participant)
    }
  }

  /// SQL over `request`: whether the process that made it is gone.
  private static let isAbandoned = """
    NOT EXISTS (SELECT 1 FROM participant
      WHERE participant.id = request.participant AND \(PostgreSQLSchema.isLive))
    """

  /// Begins the oldest request without an answer; also one that was begun before and not ended.
  ///
  /// Those of processes that are gone are dropped, if they were not begun.
  package func beginRequest() throws(CatalogError) -> RemoteRequest? {
    guard isOnServer else { return nil }
    let mayHave = try read { (connection) throws(CatalogError) in
      try connection.hasRow("SELECT 1 FROM request WHERE answer IS NULL OR \(Self.isAbandoned)")
    }
    guard mayHave else { return nil }
    return try write { (writer) throws(CatalogError) in
      try writer.connection.executeScript(
        """
        DELETE FROM request WHERE (answer IS NOT NULL OR NOT begun) AND \(Self.isAbandoned)
        """)
      let request = try writer.connection.first(
        """
        SELECT id, participant, body,
          coalesce((SELECT node FROM participant WHERE participant.id = request.participant), ''), begun
        FROM request WHERE answer IS NULL ORDER BY id LIMIT 1
        """
      ) {
        RemoteRequest(
          id: $0.int64(0), participant: $0.int64(1), body: $0.text(2), node: $0.text(3),
          wasBegun: $0.bool(4))
      }
      if let request {
        try writer.connection.execute("UPDATE request SET begun = TRUE WHERE id = ?", request.id)
      }
      return request
    }
  }

  /// Answers a request that was begun.
  package func answer(_ request: Int64, _ text: String) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        "UPDATE request SET answer = ? WHERE id = ? AND answer IS NULL", text, request)
    }
  }

  /// Whether the process with the library's lock is there.
  package func hasTaker() throws(CatalogError) -> Bool {
    try read { (connection) throws(CatalogError) in
      try connection.hasRow(
        """
        SELECT 1 FROM participant WHERE taker AND \(PostgreSQLSchema.isLive) AND NOT \(PostgreSQLSchema.isGone)
        """)
    }
  }

  /// Records why this process does not work on stages.
  package func tellHeldStages(_ reasons: [String: String]) throws(CatalogError) {
    var bytes: [UInt8] = []
    JSONValue.object(reasons.mapValues { .string($0) }).write(to: &bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    try write { (writer) throws(CatalogError) in
      guard let participation = writer.participation else { return }
      try writer.connection.execute(
        "UPDATE participant SET held = ? WHERE id = ? AND held <> ?", text, participation.id, text)
    }
  }
}
