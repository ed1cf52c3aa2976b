package import PipelineModel
import PostgreSQL
package import Records

/// What `doctor` asks a server of PostgreSQL.
package struct CatalogServer {
  /// Such as 15.18.
  package let version: String
  /// Settings that let the server lose what it has acknowledged, such as `fsync=off`.
  package let unsafeSettings: [String]
  /// Whether it is a standby, or may only be read.
  package let isReadOnly: Bool
  /// The rights that the user needs and lacks, such as `TEMPORARY on the database`.
  package let missingRights: [String]
  /// Why the catalog that is there is not the library's; `nil` if it is, or if there is none.
  package let refusal: CatalogError?
  /// The transaction that has been open longest, if it is old.
  package let oldTransaction: OldTransaction?
  /// The least time of some statements that ask for nothing.
  package let roundTrip: Duration

  /// A transaction of any program in the same database, as far as the user may see it. The server keeps all versions of
  /// rows that it might still read.
  package struct OldTransaction: Sendable {
    /// As the program calls itself.
    package var program: String
    package var user: String
    /// Of the server.
    package var process: Int64
    package var age: Duration
  }

  /// Why an address can't be read; `nil` if it can, or nothing is there that could tell.
  package static func fault(in address: DatabaseLocation) -> String? { address.fault }

  /// Connects and asks.
  ///
  /// - Parameters:
  ///   - libraryID: the library's identity; `nil` if there is no library yet.
  ///   - age: from which on a transaction is old.
  /// - Throws: why the server can't be reached, or is not fit for a catalog.
  package init(
    _ address: DatabaseLocation, libraryID: String?, oldAt age: Duration = .seconds(600)
  ) throws(CatalogError) {
    let driver = try PostgreSQLDriver(address, role: .reading)
    defer { driver.close() }
    var unsafe: [String] = []
    // Not `synchronous_commit`, which the program sets for its sessions.
    for name in ["fsync", "full_page_writes"] {
      let value = try driver.first("SELECT current_setting('\(name)')") { $0.text(0) }
      if value == "off" { unsafe.append("\(name)=off") }
    }
    unsafeSettings = unsafe
    version = try driver.first("SELECT current_setting('server_version')") { $0.text(0) } ?? ""
    isReadOnly = try driver.isReadOnly()
    let connection = Connection(driver, .database(address))
    let state = Self.state(of: connection, libraryID: libraryID)
    refusal = state.refusal
    missingRights = try Self.missingRights(connection, isThere: state.isThere)
    oldTransaction = try Self.oldTransaction(connection, from: age)
    var times: [Duration] = []
    for _ in 0..<5 {
      let start = ContinuousClock.now
      _ = try driver.first("SELECT 1") { $0.int64(0) }
      times.append(ContinuousClock.now - start)
    }
    roundTrip = times.min() ?? .zero
  }

  private static func oldTransaction(
    _ connection: Connection, from age: Duration
  ) throws(CatalogError) -> OldTransaction? {
    try connection.first(
      """
      SELECT application_name, usename, pid,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS bigint)
      FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend' AND xact_start <= clock_timestamp() - ? * interval '1 second'
      ORDER BY xact_start LIMIT 1
      """, Int(age.components.seconds)
    ) { row in
      OldTransaction(
        program: row.text(0), user: row.text(1), process: row.int64(2),
        age: .seconds(row.int64(3)))
    }
  }

  private static func state(
    of connection: Connection, libraryID: String?
  ) -> (isThere: Bool, refusal: CatalogError?) {
    do throws(CatalogError) {
      guard try PostgreSQLSchema.version(in: connection) != nil else { return (false, nil) }
      if let libraryID { try Catalog.requireOwner(of: connection, libraryID: libraryID) }
      return (true, nil)
    } catch {
      return (true, error)
    }
  }

  /// - Parameter isThere: whether there is a catalog, so that none has to be made.
  private static func missingRights(
    _ connection: Connection, isThere: Bool
  ) throws(CatalogError) -> [String] {
    var missing: [String] = []
    for right in ["TEMPORARY"] + (isThere ? [] : ["CREATE"]) {
      let sql = "SELECT 1 WHERE has_database_privilege(current_database(), '\(right)')"
      if try !connection.hasRow(sql) { missing.append("\(right) on the database") }
    }
    if isThere {
      for right in ["SELECT", "INSERT", "UPDATE", "DELETE"] {
        let tables = try connection.all(
          """
          SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
          WHERE nspname = '\(PostgreSQLSchema.name)' AND relkind = 'r'
            AND NOT has_table_privilege(pg_class.oid, '\(right)') ORDER BY relname
          """
        ) { $0.text(0) }.filter(PostgreSQLSchema.tables.contains)
        if let table = tables.first {
          // An update may have made new ones, which nobody has granted.
          missing.append("\(right) on " + (tables.count == 1 ? "the table \(table)" : "the tables"))
        }
      }
    }
    return missing
  }
}
