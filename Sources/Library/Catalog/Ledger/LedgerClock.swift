package import PipelineModel
package import Records

/// The clock by which jobs are due: that of the database's server, so that machines agree whose clocks differ or jump;
/// this machine's for a file.
extension Connection {
  /// SQL for what the clock says, in microseconds, and the values of its parameters.
  ///
  /// - Parameter number: the number of the first parameter, after those of the rest of the statement.
  func ledgerClock(_ number: Int) -> (sql: String, values: [any SQLBindable]) {
    switch dialect {
    case .sqlite: ("?\(number)", [Timestamp.now])
    // The same during the whole of a statement, so that an index finds what is due.
    case .postgreSQL:
      ("CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)", [])
    }
  }

  /// What the clock says.
  func ledgerTime() throws(CatalogError) -> Timestamp {
    if dialect == .sqlite { return .now }
    let clock = ledgerClock(1)
    return try first("SELECT \(clock.sql)", values: clock.values) { $0.timestamp(0) } ?? .now
  }
}

extension CatalogReader {
  /// What the clock says by which jobs are due.
  package func ledgerTime() throws(CatalogError) -> Timestamp {
    try read { (connection) throws(CatalogError) in try connection.ledgerTime() }
  }
}
