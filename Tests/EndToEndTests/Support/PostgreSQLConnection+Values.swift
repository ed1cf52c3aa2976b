import PostgreSQL

extension PostgreSQLConnection {
  /// The number that a statement without parameters returns.
  func first(_ sql: String) throws -> Int64 { try result(sql).integer(0, 0) }

  /// The text that it returns.
  func text(_ sql: String) throws -> String { try result(sql).text(0, 0) }

  private func result(_ sql: String) throws -> PostgreSQLResult {
    // The statement without a name is replaced by the next.
    try prepare(sql, as: "", types: [])
    return try execute(prepared: "", PostgreSQLParameters())
  }
}
