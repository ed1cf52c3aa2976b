/// A part of an SQL statement with the values of its parameters, in order.
///
/// An interpolated value becomes a parameter, so that no value is ever read as SQL.
struct SQLFragment: ExpressibleByStringInterpolation {
  private(set) var sql: String
  private(set) var values: [any SQLBindable] = []

  init(stringLiteral sql: String) { self.sql = sql }

  init(stringInterpolation parts: Interpolation) {
    sql = parts.sql
    values = parts.values
  }

  /// SQL without parameters.
  init(raw sql: String) { self.sql = sql }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var sql = ""
    fileprivate var values: [any SQLBindable] = []

    init(literalCapacity: Int, interpolationCount: Int) { sql.reserveCapacity(literalCapacity) }

    mutating func appendLiteral(_ literal: String) { sql += literal }

    mutating func appendInterpolation(_ value: some SQLBindable) {
      sql += "?"
      values.append(value)
    }

    mutating func appendInterpolation(_ fragment: SQLFragment) {
      sql += fragment.sql
      values += fragment.values
    }

    mutating func appendInterpolation(raw sql: String) { self.sql += sql }
  }

  /// Joins conditions in brackets, as a balanced tree: SQLite limits how deep an expression is.
  ///
  /// - Parameter empty: what stands for no conditions at all.
  static func joined(
    _ parts: some RandomAccessCollection<SQLFragment>, by keyword: String, empty: String
  ) -> SQLFragment {
    switch parts.count {
    case 0: return SQLFragment(raw: empty)
    case 1: return parts[parts.startIndex]
    default:
      let middle = parts.index(parts.startIndex, offsetBy: parts.count / 2)
      let left = joined(parts[..<middle], by: keyword, empty: empty)
      let right = joined(parts[middle...], by: keyword, empty: empty)
      return "(\(left) \(raw: keyword) \(right))"
    }
  }
}
