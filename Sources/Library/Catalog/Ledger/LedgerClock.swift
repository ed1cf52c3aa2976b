import PipelineModel
import Records

/// The clock by which jobs are due: that of the database's server, so that machines agree whose clocks differ or jump;
/// this machine's for a file.
///
/// Times outside of the ledger are by this machine's clock. They are converted by how far both are apart at that moment.
extension Connection {
  /// SQL for what the clock says, in microseconds, and the values of its parameters.
  ///
  /// - Parameters:
  ///   - number: the number of the first parameter, after those of the rest of the statement.
  ///   - here: what this machine's clock says.
  func ledgerNow(
    _ number: Int, here: Timestamp = .now
  ) -> (sql: String, values: [any SQLBindable]) {
    switch dialect {
    case .sqlite: ("?\(number)", [here])
    // The same during the whole of a statement, so that an index finds what is due.
    case .postgreSQL:
      ("CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)", [])
    }
  }

  /// What the clock will say when this machine's says `time`.
  func ledgerTime(_ time: Timestamp) throws(CatalogError) -> Timestamp {
    guard dialect == .postgreSQL else { return time }
    let delay = time.microseconds - Timestamp.now.microseconds
    let found = try first("SELECT CAST(?1 AS bigint) + \(ledgerNow(2).sql)", delay) {
      $0.timestamp(0)
    }
    return found ?? time
  }
}
