import PipelineModel
package import Records

extension CatalogReader {
  /// The processes that change the catalog, and those that did within a day; in PostgreSQL only.
  package func participants() throws(CatalogError) -> [ParticipantRecord] {
    try read { (connection) throws(CatalogError) in try connection.participants() }
  }

  /// A process that works beside the one with the library's lock; `nil` if there is none.
  ///
  /// One whose connection is just being made anew counts until its pulse is over.
  package func participantBeside() throws(CatalogError) -> ParticipantRecord? {
    try read { (connection) throws(CatalogError) in try connection.participantBeside() }
  }
}

extension Connection {
  fileprivate func participants(
    where condition: String = "TRUE"
  ) throws(CatalogError) -> [ParticipantRecord] {
    try all(
      """
      SELECT id, node, process, verb, version,
        CASE WHEN \(PostgreSQLSchema.isLive) AND \(PostgreSQLSchema.isGone) THEN 'expired' ELSE state END,
        CAST(extract(epoch FROM joined_at) * 1000000 AS bigint),
        CAST(extract(epoch FROM renewed_at) * 1000000 AS bigint),
        (SELECT count(*) FROM attempt WHERE ended_at IS NULL AND attempt.participant = participant.id), jobs,
        taker, held,
        coalesce((SELECT string_agg(name, ' ' ORDER BY name) FROM held_source
          WHERE held_source.participant = participant.id AND name NOT LIKE '//%'), '')
      FROM participant WHERE \(condition) ORDER BY joined_at, id
      """
    ) { row in
      ParticipantRecord(
        id: row.int64(0), node: row.text(1), process: row.int(2), verb: row.text(3),
        version: row.text(4), state: .init(rawValue: row.text(5)) ?? .expired,
        joinedAt: row.timestamp(6), renewedAt: row.timestamp(7), runningJobs: row.int(8),
        endedJobs: row.int(9), isTaker: row.bool(10), heldStages: Self.reasons(row.text(11)),
        sources: row.text(12).split(separator: " ").map(String.init))
    }
  }

  private static func reasons(_ text: String) -> [String: String] {
    // What can't be read was written by somebody else.
    let value = try? JSONText.decode(JSONValue.self, from: text.utf8)
    return value?.object?.compactMapValues(\.string) ?? [:]
  }

  /// The same, for who has a connection; `nil` for a file, which has no such processes.
  func participantBeside() throws(CatalogError) -> ParticipantRecord? {
    guard dialect == .postgreSQL else { return nil }
    return try participants(
      where: """
        NOT taker AND \(PostgreSQLSchema.isLive)
          AND (expires_at > clock_timestamp() OR participant.id IN (\(PostgreSQLSchema.present)))
        """
    ).first
  }
}
