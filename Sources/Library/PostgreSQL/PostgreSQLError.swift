/// Why PostgreSQL could not be reached, or refused a statement.
package struct PostgreSQLError: Error, Hashable, Sendable {
  package enum Code: Hashable, Sendable {
    /// libpq is not installed.
    case noLibrary
    /// There is no connection, or none any more. Whether a statement under way had an effect is unknown.
    case connection
    /// The server refused a statement or the connection; `state` says why.
    case refused
    /// The statement was ended because nobody waits for its result.
    case interrupted
  }

  package var code: Code
  package var message: String
  /// The SQLSTATE of five characters, if the server gave one. Source: PostgreSQL's documentation, Appendix A.
  package var state: String?
  /// The text of the statement that failed, if it is one that nobody waited for.
  package var queuedStatement: String?

  /// Whether there is no connection until somebody changes a password, a right, a name or a certificate.
  package var isRefusal = false

  package init(_ code: Code, _ message: String, state: String? = nil) {
    self.code = code
    self.message = message
    self.state = state
  }
}
