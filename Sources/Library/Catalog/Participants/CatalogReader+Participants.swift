import PipelineModel
package import Records

extension CatalogReader {
  /// The processes that change the catalog, and those that did within a day; in PostgreSQL only.
  package func participants() throws(CatalogError) -> [ParticipantRecord] {
    try read { (connection) throws(CatalogError) in try connection.participants() }
  }
}

extension Connection {
  /// The same, for who has a connection.
  func participants() throws(CatalogError) -> [ParticipantRecord] {
    try all(
      """
      SELECT id, node, process, verb, version,
        CASE WHEN \(PostgreSQLSchema.isLive) AND \(PostgreSQLSchema.isGone) THEN 'expired' ELSE state END,
        CAST(extract(epoch FROM joined_at) * 1000000 AS bigint),
        CAST(extract(epoch FROM renewed_at) * 1000000 AS bigint),
        (SELECT count(*) FROM attempt WHERE ended_at IS NULL AND attempt.participant = participant.id), jobs,
        taker
      FROM participant ORDER BY joined_at, id
      """
    ) { row in
      ParticipantRecord(
        id: row.int64(0), node: row.text(1), process: row.int(2), verb: row.text(3),
        version: row.text(4), state: .init(rawValue: row.text(5)) ?? .expired,
        joinedAt: row.timestamp(6), renewedAt: row.timestamp(7), runningJobs: row.int(8),
        endedJobs: row.int(9), isTaker: row.bool(10))
    }
  }
}
