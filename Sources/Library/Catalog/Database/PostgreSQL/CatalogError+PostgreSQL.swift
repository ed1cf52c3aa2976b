package import PipelineModel
package import PostgreSQL
package import Records

extension CatalogError {
  /// Creates an error from PostgreSQL's, never with bound values.
  ///
  /// Source: PostgreSQL's documentation, Appendix A “PostgreSQL Error Codes”.
  package init(postgreSQL error: PostgreSQLError, _ address: DatabaseLocation, sql: String?) {
    let subject = "The catalog “\(address)”"
    let cause = "(PostgreSQL\(error.state.map { " \($0)" } ?? ""): \(error.message))"
    self =
      switch (error.code, error.state) {
      case (.noLibrary, _): CatalogError(.database, error.message)
      case (.interrupted, _): CatalogError(.interrupted, "Reading \(subject) was stopped.")
      case (.connection, _) where sql == nil: CatalogError(.unreachable, error.message)
      case (.connection, _):
        CatalogError(
          .unreachable,
          "\(subject) can't be reached any more; what was not committed is undone. \(cause)")
      case (_, "53100"):
        CatalogError(.noSpace, "\(subject) can't grow. Make space on its server's disk. \(cause)")
      case (_, "55P03"):
        CatalogError(
          .database,
          "\(subject) was locked by another session for a minute: end its transaction. \(cause)")
      case (_, "40P01"), (_, "40001"):
        CatalogError(
          .database,
          "\(subject) let another session go on, which locks what the program needs: end its transaction, and try again. "
            + "\(cause)")
      case (_, "25006"):
        CatalogError(
          .readOnly, "\(subject) can only be read: its server is a standby, or read-only. \(cause)")
      case (_, "42501"):
        CatalogError(
          .readOnly,
          "\(subject) may not be read or written by this user. Its owner can grant it. \(cause)")
      case (_, "42P01"):
        CatalogError(
          .database,
          "\(subject) lacks a table, as while a backup is being restored, or if its database was made anew. If it stays so, "
            + "`pipeline rebuild-catalog` on the machine with the library's own folder makes it again. \(cause)"
        )
      case _ where error == PostgreSQLConnection.sharedSession: .sharedSession(subject)
      // A name of a prepared statement that is unknown, or known already.
      case (_, "26000"), (_, "42P05"): .sharedSession(subject, cause)
      case (_, "XX001"), (_, "XX002"):
        CatalogError(.corrupt, "\(subject) is damaged. \(Self.advice) \(cause)")
      default:
        CatalogError(
          .database,
          "\(subject) failed at “\(sql.map { Self.line($0) } ?? "open")”. \(cause)")
      }
    self.cause = cause
    isRefusal = error.isRefusal
    mayPass = error.code == .refused && error.state.map(Self.mayPass) == true
  }

  /// Whether what a server refuses with a code may succeed later: it undid a transaction for another one's sake, lacks room
  /// or memory, may only be read, was told to end a statement, did not get a lock in time, or gets its tables and their keys
  /// from a backup just now.
  private static func mayPass(_ state: String) -> Bool {
    ["40", "53"].contains(state.prefix(2))
      || ["25006", "57014", "55P03", "42P01", "42P10", "3F000"].contains(state)
  }

  private static func sharedSession(_ subject: String, _ cause: String? = nil) -> CatalogError {
    let reason = PostgreSQLConnection.sharedSession.message
    return CatalogError(
      .database, "\(subject) can't be used: \(reason).\(cause.map { " \($0)" } ?? "")")
  }

  /// The error that the bytes of a rendition can't be read, because of a damaged page of their table.
  static func unreadableBytes(_ path: BytePath, _ error: CatalogError) -> CatalogError {
    var unreadable = CatalogError(
      .unreadableBytes,
      "The server of the catalog “\(path)” can't read these bytes. \(error.cause ?? error.message)",
      path: path)
    unreadable.cause = error.cause
    return unreadable
  }
}
