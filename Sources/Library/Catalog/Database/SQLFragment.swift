/// A part of an SQL statement with the values of its parameters, in order.
///
/// An interpolated value becomes a parameter, so that no value is ever read as SQL.
struct SQLFragment: ExpressibleByStringInterpolation {
  private(set) var sql: String
  private(set) var values: [any SQLBindable] = []
  /// How many symbols conditions joined in brackets take on a parser's stack.
  private(set) var depth = 0

  init(stringLiteral sql: String) { self.sql = sql }

  init(stringInterpolation parts: Interpolation) {
    sql = parts.sql
    values = parts.values
    depth = parts.depth
  }

  /// SQL without parameters.
  init(raw sql: String) { self.sql = sql }

  struct Interpolation: StringInterpolationProtocol {
    fileprivate var sql = ""
    fileprivate var values: [any SQLBindable] = []
    fileprivate var depth = 0

    init(literalCapacity: Int, interpolationCount: Int) { sql.reserveCapacity(literalCapacity) }

    mutating func appendLiteral(_ literal: String) { sql += literal }

    mutating func appendInterpolation(_ value: some SQLBindable) {
      sql += "?"
      values.append(value)
    }

    mutating func appendInterpolation(_ fragment: SQLFragment) {
      sql += fragment.sql
      values += fragment.values
      depth = max(depth, fragment.depth + 1)
    }

    mutating func appendInterpolation(raw sql: String) { self.sql += sql }
  }

  /// Joins conditions in brackets.
  ///
  /// SQLite limits how deep an expression is, so very many become a balanced tree; and how much its parser
  /// keeps on its stack, so the deepest comes first, where it needs the least.
  ///
  /// - Parameter empty: what stands for no conditions at all.
  static func joined(
    _ parts: [SQLFragment], by keyword: String, empty: String
  ) -> SQLFragment {
    guard parts.count > 1 else { return parts.first ?? SQLFragment(raw: empty) }
    guard parts.count <= mostJoined else {
      let middle = parts.count / 2
      return joined(
        [
          joined(Array(parts[..<middle]), by: keyword, empty: empty),
          joined(Array(parts[middle...]), by: keyword, empty: empty),
        ], by: keyword, empty: empty)
    }
    let sorted = parts.sorted { $0.depth > $1.depth }
    var joined = SQLFragment(raw: "(\(sorted.map(\.sql).joined(separator: " \(keyword) ")))")
    joined.values = sorted.flatMap(\.values)
    joined.depth = max(1 + sorted[0].depth, 3 + sorted[1].depth)
    return joined
  }

  /// The parts in one pair of brackets: each makes the expression one level deeper, of at most 1,000.
  private static let mostJoined = 256

  /// Whether SQLite may refuse it: its parser's stack has room for 100 symbols, and other builds than
  /// Debian's take 32,766 parameters. Source: sqlite.org/limits.html.
  var isTooComplex: Bool { depth > 60 || values.count > 30_000 || hasLongPattern }

  /// Whether a pattern may be longer than the 50,000 bytes that GLOB takes.
  private var hasLongPattern: Bool {
    sql.contains("GLOB")
      && values.contains {
        if case .text(let text) = $0.sqlValue { text.utf8.count > 50_000 } else { false }
      }
  }
}
