import PipelineModel
import Query
package import Records

/// Questions as SQL.
extension AssetQuestion {
  var condition: SQLFragment { FilterCompiler(damaged: damaged).condition(filter) }

  /// The statements that find the keys and the numbers of rows, one after the other, each without its limit.
  var statements: [SQLFragment] {
    var keys = order.map {
      SortKey(Self.expressions(of: $0.field), $0.isDescending, isNilFirst: $0.isNilFirst)
    }
    guard followsTimes else {
      return [Self.statement(condition, keys, after: start)]
    }
    // Two, so that one follows the index: assets without this time come last, or first.
    let rest = start.map { Start(id: $0.id, keys: Array($0.keys.dropFirst())) }
    let isNilFirst = keys[0].isNilFirst
    guard let first = start?.keys.first else {
      let both = [known(&keys, after: nil), unknown(keys, after: nil)]
      return isNilFirst ? both.reversed() : both
    }
    guard case .time(let time) = first else {
      let unknown = unknown(keys, after: rest)
      return isNilFirst ? [unknown, known(&keys, after: nil)] : [unknown]
    }
    let sign = keys[0].isDescending ? "<=" : ">="
    let known = known(
      &keys, after: start, and: " AND picture.taken \(raw: sign) \(time)")
    return isNilFirst ? [known] : [known, unknown(keys, after: nil)]
  }

  /// The assets with a time.
  ///
  /// - Parameter bound: where the index begins, which also follows from the start.
  private func known(
    _ keys: inout [SortKey], after start: Start?, and bound: SQLFragment = ""
  ) -> SQLFragment {
    keys[0].isNullable = false
    return Self.statement(
      "picture.taken IS NOT NULL AND \(condition)\(bound)", keys, after: start)
  }

  /// The assets without a time.
  private func unknown(_ keys: [SortKey], after start: Start?) -> SQLFragment {
    Self.statement(
      "picture.taken IS NULL AND \(condition)", Array(keys.dropFirst()), after: start)
  }

  /// Whether the order is that of an index, so that a page takes no longer than it has assets.
  package var followsIndex: Bool {
    order.isEmpty ? filter == .everything : followsTimes
  }

  private var followsTimes: Bool { order.first?.field == .time(.taken) && isIndexed }

  /// Whether the order may follow an index, which must not be walked in search of something rare.
  private var isIndexed: Bool {
    // Nearly all assets are outside the trash.
    let parts = filter.conjuncts.filter { $0 != .not(.flag(.trashed)) }
    return parts.isEmpty
      || parts.contains { part in
        switch part {
        case .time(.taken, _), .text(.camera, .equals): true
        default: false
        }
      }
  }

  /// What a criterion sorts by.
  private struct SortKey {
    /// SQL of one value, or of several that are compared in turn.
    var expressions: [String]
    var isDescending: Bool
    /// Whether the first may be `NULL`.
    var isNullable = true
    /// Whether `NULL` sorts first; otherwise last.
    var isNilFirst: Bool

    init(_ expressions: [String], _ isDescending: Bool, isNilFirst: Bool) {
      self.expressions = expressions
      self.isDescending = isDescending
      self.isNilFirst = isNilFirst
    }

    var order: [String] {
      (isNullable ? ["\(expressions[0]) IS\(isNilFirst ? " NOT" : "") NULL"] : [])
        + expressions.map { $0 + (isDescending ? " DESC" : "") }
    }

    /// The condition that a row comes after these values, or after none; `nil` if nothing does.
    func follows(_ values: [SQLValue]) -> SQLFragment? {
      if values.isEmpty { return isNilFirst ? "\(raw: expressions[0]) IS NOT NULL" : nil }
      let (left, sign) = (expressions.joined(separator: ", "), isDescending ? "<" : ">")
      let follows: SQLFragment = "(\(raw: left)) \(raw: sign) (\(SQLFragment.list(values)))"
      return isNullable && !isNilFirst ? "(\(follows) OR \(raw: expressions[0]) IS NULL)" : follows
    }

    /// The condition that a row has these values, or none.
    func equals(_ values: [SQLValue]) -> [SQLFragment] {
      values.isEmpty
        ? ["\(raw: expressions[0]) IS NULL"]
        : zip(expressions, values).map { "\(raw: $0) = \($1)" }
    }
  }

  private static func statement(
    _ condition: SQLFragment, _ keys: [SortKey], after start: Start?
  ) -> SQLFragment {
    let order = (keys.flatMap(\.order) + ["picture.asset"]).joined(separator: ", ")
    let condition = start.map { SQLFragment("\(condition) AND \(follows(keys, $0))") } ?? condition
    return """
      SELECT picture.asset, picture.number FROM picture WHERE \(condition) ORDER BY \(raw: order)
      """
  }

  /// The condition that a row comes after the start.
  private static func follows(_ keys: [SortKey], _ start: Start) -> SQLFragment {
    var alternatives: [SQLFragment] = []
    var same: [SQLFragment] = []
    for (key, value) in zip(keys, start.keys) {
      let values = values(of: value)
      if let follows = key.follows(values) {
        alternatives.append(SQLFragment.joined(same + [follows], by: "AND", empty: "TRUE"))
      }
      same += key.equals(values)
    }
    let last: SQLFragment = "picture.asset > \(start.id)"
    alternatives.append(SQLFragment.joined(same + [last], by: "AND", empty: "TRUE"))
    return SQLFragment.joined(alternatives, by: "OR", empty: "FALSE")
  }

  /// The values of a criterion; none if it is missing.
  private static func values(of value: SortValue) -> [SQLValue] {
    switch value {
    case .text(let folded, let whole): [.text(folded), .text(TextFolding.compose(whole))]
    case .number(let number): [.real(number)]
    case .time(let time): [.integer(time)]
    case .none: []
    }
  }

  /// What a field is sorted by; `NULL` if there is no value.
  static func expressions(of field: Field) -> [String] {
    switch field {
    case .number(let field): return ["picture.\(field)"]
    case .time(let field): return ["picture.\(field)"]
    case .text(let field):
      switch field {
      case .name, .path, .title, .caption:
        return ["ifnull(picture.\(field)_folded, picture.\(field))", "picture.\(field)"]
      case .source, .type, .camera, .lens:
        return ["folded", "text"].map { "(SELECT \($0) FROM term WHERE id = picture.\(field))" }
      case .tag, .album:
        return ["folded", "text"].map {
          """
          (SELECT term.\($0) FROM \(field.table) AS list CROSS JOIN term ON term.id = list.term
            WHERE list.picture = picture.number ORDER BY list.position LIMIT 1)
          """
        }
      case .kind: return ["picture.kind", "picture.kind"]
      case .state:
        let state = "(SELECT state FROM asset_state WHERE id = picture.asset)"
        return [state, state]
      case .group:
        let value = """
          nullif(ltrim(ifnull((SELECT kinds FROM member WHERE asset = picture.asset), '')
            || ifnull(\(Schema.burst("', burst'", of: "picture.asset")), ''), ', '), '')
          """
        return ["lower(\(value))", value]
      case .role:
        let value = "(SELECT role FROM member WHERE asset = picture.asset)"
        return ["lower(\(value))", value]
      case .digest:
        let hex = "(SELECT lower(hex(digest)) FROM asset WHERE id = picture.asset)"
        return [hex, hex]
      case .id:
        let uuid = Schema.uuid("picture.asset")
        return [uuid, uuid]
      }
    }
  }
}

extension SQLFragment {
  /// Parameters separated by commas.
  fileprivate static func list(_ values: [SQLValue]) -> SQLFragment {
    values.dropFirst().reduce("\(values[0])") { "\($0), \($1)" }
  }
}
