import PostgreSQL

extension PostgreSQLConnection {
  /// The number that a statement without parameters returns.
  func first(_ sql: String) throws -> Int64 {
    // The statement without a name is replaced by the next.
    try prepare(sql, as: "", types: [])
    return try execute(prepared: "", PostgreSQLParameters()).integer(0, 0)
  }
}
