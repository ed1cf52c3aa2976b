import Hashing
import PostgreSQL
import Records

/// A row, its values in the order of the columns.
typealias CatalogRow = [SQLValue]

extension Connection {
  /// The most rows of a page: some megabytes, if many have facts.
  private static let pageSize = 128

  /// Calls a body with all rows of a table, a page at a time, sorted; in the caller's transaction.
  ///
  /// A server is asked for a page at a time, too, by a cursor.
  func pages(
    of table: CatalogTable, _ body: ([CatalogRow]) throws(CatalogError) -> Void
  ) throws(CatalogError) {
    switch dialect {
    case .sqlite:
      var page: [CatalogRow] = []
      try each(table.selection) { (row) throws(CatalogError) in
        page.append(row.values(of: table))
        guard page.count == Self.pageSize else { return }
        try body(page)
        page = []
      }
      if !page.isEmpty { try body(page) }
    case .postgreSQL:
      // Waited for: a change would be queued.
      _ = try changes("DECLARE moving NO SCROLL CURSOR FOR \(table.selection)")
      while true {
        let page = try all("FETCH \(Self.pageSize) FROM moving") { $0.values(of: table) }
        if page.isEmpty { break }
        try body(page)
      }
      _ = try changes("CLOSE moving")
    }
  }

  /// Inserts rows into a table.
  func insert(_ rows: [CatalogRow], into table: CatalogTable) throws(CatalogError) {
    guard !rows.isEmpty else { return }
    let values = rows.flatMap { zip($0, table.columns).map { $0.typed($1.type) } }
    try execute(table.insertion(of: rows.count), values: values)
  }
}

extension Statement {
  fileprivate func values(of table: CatalogTable) -> CatalogRow {
    table.columns.indices.map { column in
      if isNull(column) { return .null }
      return switch table.columns[column].type {
      case .boolean, .integer: .integer(int64(column))
      // SQLite has one zero.
      case .real: .real(double(column) + 0)
      case .text: .text(text(column))
      case .blob: .blob(blob(column))
      }
    }
  }
}

extension SQLValue {
  /// The value, or `NULL`, as one of a type, which a server is told with it.
  fileprivate func typed(_ type: SQLType) -> any SQLBindable {
    switch (type, self) {
    case (.boolean, .integer(let number)): number != 0
    case (.boolean, _): Bool?.none
    case (.integer, .null): Int64?.none
    case (.integer, .integer(let number)): number
    case (.real, .null): Double?.none
    case (.real, .real(let number)): number
    case (.text, .null): String?.none
    case (.text, .text(let text)): text
    case (.blob, .null): Blob?.none
    case (.blob, .blob(let bytes)): Blob(bytes: bytes)
    default: self
    }
  }

  /// The value as PostgreSQL can store it.
  var withoutNull: SQLValue {
    if case .text(let text) = self { .text(text.withoutNull) } else { self }
  }
}

/// Bytes, whose type a server is told even if there are none.
private struct Blob: SQLBindable {
  let bytes: [UInt8]
  static var sqlType: SQLType? { .blob }
  var sqlValue: SQLValue { .blob(bytes) }
}

/// A checksum of rows in their order, the same from whichever database they come.
struct RowChecksum {
  private let hash = SHA256()
  private(set) var rows = 0

  mutating func add(_ row: CatalogRow) {
    rows += 1
    for value in row {
      switch value {
      case .null: add(0, [])
      case .integer(let number): add(1, Self.bytes(UInt64(bitPattern: number)))
      case .real(let number): add(2, Self.bytes(number.bitPattern))
      case .text(let text): add(3, text.utf8)
      case .blob(let bytes): add(4, bytes)
      }
    }
  }

  /// Adds a value behind its type and length, so that no two rows read alike.
  private func add(_ type: UInt8, _ bytes: some Collection<UInt8>) {
    hash.update([type] + Self.bytes(UInt64(bytes.count)))
    hash.update(bytes)
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// The checksum; add nothing afterwards.
  func finish() -> TableContent { TableContent(rows: rows, digest: hash.finalize()) }
}
