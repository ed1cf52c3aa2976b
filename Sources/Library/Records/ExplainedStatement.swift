/// A statement of a search, for people.
package struct ExplainedStatement: Sendable {
  package var sql: String
  /// The values of its parameters, as SQL.
  package var values: [String]
  /// The lines of `EXPLAIN QUERY PLAN`.
  package var plan: [String]

  package init(
    sql: String, values: [String], plan: [String]
  ) {
    self.sql = sql
    self.values = values
    self.plan = plan
  }
}
