package import PipelineModel
package import Records

/// What `doctor` asks a server of PostgreSQL.
package struct CatalogServer {
  /// Such as 15.18.
  package let version: String
  /// Settings that let the server lose what it has acknowledged, such as `fsync=off`.
  package let unsafeSettings: [String]
  /// Whether it is a standby, or may only be read.
  package let isReadOnly: Bool
  /// The least time of some statements that ask for nothing.
  package let roundTrip: Duration

  /// Connects and asks.
  ///
  /// - Throws: why the server can't be reached, or is not fit for a catalog.
  package init(_ address: DatabaseLocation) throws(CatalogError) {
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
    var times: [Duration] = []
    for _ in 0..<5 {
      let start = ContinuousClock.now
      _ = try driver.first("SELECT 1") { $0.int64(0) }
      times.append(ContinuousClock.now - start)
    }
    roundTrip = times.min() ?? .zero
  }
}
