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
  /// The least time of some statements that ask for nothing.
  package let roundTrip: Duration

  /// Why an address can't be read; `nil` if it can, or nothing is there that could tell.
  package static func fault(in address: DatabaseLocation) -> String? { address.fault }

  /// Connects and asks.
  ///
  /// - Parameter libraryID: the library's identity; `nil` if there is no library yet.
  /// - Throws: why the server can't be reached, or is not fit for a catalog.
  package init(_ address: DatabaseLocation, libraryID: String?) throws(CatalogError) {
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
    var times: [Duration] = []
    for _ in 0..<5 {
      let start = ContinuousClock.now
      _ = try driver.first("SELECT 1") { $0.int64(0) }
      times.append(ContinuousClock.now - start)
    }
    roundTrip = times.min() ?? .zero
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
