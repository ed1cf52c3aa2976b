import Glibc
import PipelineModel
import PostgreSQL
import Records

/// Connections as a catalog needs them.
extension PostgreSQLDriver {
  /// Connects, checks what the catalog relies on, and configures the session.
  static func connect(
    _ address: DatabaseLocation, _ role: Role
  ) throws(CatalogError) -> PostgreSQLConnection {
    do throws(PostgreSQLError) {
      let connection = try PostgreSQLConnection(
        address, applicationName: "pipeline/\(OwnProcess.node)")
      connection.canCancel = role != .confined
      try requireOwnSession(connection, address)
      try connection.execute(configuration(of: role))
      try check(connection, address)
      return connection
    } catch {
      throw CatalogError(postgreSQL: error, address, sql: nil)
    }
  }

  private static func check(
    _ connection: PostgreSQLConnection, _ address: DatabaseLocation
  ) throws(PostgreSQLError) {
    guard connection.serverVersion >= 140_000 else {
      throw PostgreSQLError(
        .refused,
        "the server has version \(connection.serverVersion / 10_000), and 14 is the oldest supported"
      )
    }
    let encoding = connection.serverSetting("server_encoding") ?? "unknown"
    guard encoding == "UTF8" else {
      throw PostgreSQLError(
        .refused,
        "the database has the encoding \(encoding). Make one with: createdb --encoding=UTF8 --template=template0 NAME"
      )
    }
  }

  /// The error of a pooler that has several clients share a session: locks, prepared statements, notifications and settings
  /// belong to a session.
  static let sharedSession = PostgreSQLError(
    .refused,
    "a pooler has several programs share one session of the server, as pgbouncer does with pool_mode = transaction, "
      + "but locks, prepared statements and notifications belong to a session. Set pool_mode = session for "
      + "this database, or connect to the server itself")

  /// Refuses a pooler whose sessions are shared, before anything of one is changed.
  ///
  /// A pooler gives clients numbers of its own. One that shares sessions lends the one that is idle to the next client, unless
  /// others are; then the begin of a transaction finds out.
  private static func requireOwnSession(
    _ connection: PostgreSQLConnection, _ address: DatabaseLocation
  ) throws(PostgreSQLError) {
    connection.process = try serverProcess(of: connection)
    guard connection.process != Int64(connection.backend),
      let other = try? PostgreSQLConnection(
        address, applicationName: "pipeline/\(OwnProcess.node)")
    else { return }
    defer { other.close() }
    // With sessions of their own, and none left, this one waits until another client has gone.
    let end = ContinuousClock.now + .seconds(1)
    other.isInterrupted = { ContinuousClock.now > end }
    other.canCancel = connection.canCancel
    if (try? serverProcess(of: other)) == connection.process { throw sharedSession }
  }

  private static func serverProcess(
    of connection: PostgreSQLConnection
  ) throws(PostgreSQLError) -> Int64 {
    try connection.execute("SELECT CAST(pg_backend_pid() AS text)").integer(0, 0)
  }

  /// The catalog's statements say in which order to join, and which tables are small. So a writer takes
  /// that order, and indexes wherever there are any: the plan of a statement is made once, perhaps while the
  /// tables are empty, and must still be good when they are full. One that stops in a transaction would keep all others
  /// from theirs. So would one that was killed while it waited for its turn, until it had it: a server looks whether a
  /// client is still there only if it is asked to. Version 14 can do that on Linux only.
  private static func configuration(of role: Role) -> String {
    let common = """
      SET search_path = \(PostgreSQLSchema.name); SET jit = off; SET bytea_output = hex;
      SET standard_conforming_strings = on; SET join_collapse_limit = 1; SET timezone = 'UTC';
      SET row_security = off;
      SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = '60s';
      SET idle_session_timeout = 0; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;
      SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000;
      SELECT set_config('client_connection_check_interval', '500ms', false) WHERE version() LIKE '%linux%';
      """
    switch role {
    case .reading: return common
    case .confined: return common + "SET default_transaction_read_only = on;"
    case .writing, .working:
      return common + """
        SET idle_in_transaction_session_timeout = '10s';
        SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
        SET enable_mergejoin = off; SET enable_bitmapscan = off; SET default_transaction_isolation = 'read committed';
        SELECT set_config('synchronous_commit', 'on', false)
          WHERE current_setting('synchronous_commit') = 'off';
        """
    }
  }
}
