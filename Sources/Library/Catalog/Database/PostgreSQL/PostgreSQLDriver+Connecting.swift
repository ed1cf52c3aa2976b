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
      let open = { () throws(PostgreSQLError) in
        try PostgreSQLConnection(address, applicationName: "pipeline/\(OwnProcess.node)")
      }
      let connection = try open()
      connection.canCancel = role != .confined
      try connection.requireOwnSession(open)
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
