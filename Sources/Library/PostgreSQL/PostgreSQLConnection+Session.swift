/// Whether a connection has a session of the server of its own, also behind a pooler.
///
/// A pooler tells its clients process numbers of its own, so a number that the server says is another one. A pooler that
/// shares sessions lends one that is idle to whichever client comes next.
extension PostgreSQLConnection {
  /// The error of a session that is shared.
  package static let sharedSession = PostgreSQLError(
    .refused,
    "a pooler has several programs share one session of the server, as pgbouncer does with pool_mode = transaction, "
      + "but locks, prepared statements and notifications belong to a session. Set pool_mode = session for "
      + "this database, or connect to the server itself")

  /// SQL for the server's process, a text.
  package static let processSQL = "CAST(pg_backend_pid() AS text)"

  /// Refuses a shared session, before anything of it is changed.
  ///
  /// This finds out only if no other client is busy; otherwise `requireSameSession` does.
  ///
  /// - Parameter connectAgain: makes another connection to the same address.
  package func requireOwnSession(
    _ connectAgain: () throws(PostgreSQLError) -> PostgreSQLConnection
  ) throws(PostgreSQLError) {
    process = try serverProcess()
    guard process != Int64(backend), let other = try? connectAgain() else { return }
    defer { other.close() }
    // Where clients have sessions of their own and none is left, this one would wait until a client has gone.
    let end = ContinuousClock.now + .seconds(1)
    other.isInterrupted = { ContinuousClock.now > end }
    other.canCancel = canCancel
    if (try? other.serverProcess()) == process { throw Self.sharedSession }
  }

  private func serverProcess() throws(PostgreSQLError) -> Int64 {
    try execute("SELECT \(Self.processSQL)").integer(0, 0)
  }

  /// Refuses a session other than the one that `requireOwnSession` found.
  ///
  /// - Parameter process: what `processSQL` says now.
  package func requireSameSession(_ process: Int64) throws(PostgreSQLError) {
    guard process == self.process else { throw Self.sharedSession }
  }
}
