/// A type of parameters, as PostgreSQL numbers it. Source: `pg_type.dat`.
package enum PostgreSQLType: UInt32, Sendable {
  /// The server infers it.
  case unknown = 0
  case boolean = 16
  case bytes = 17
  case integer = 20
  case text = 25
  case real = 701
}

/// The parameters of a statement in PostgreSQL's binary format, in one buffer.
package struct PostgreSQLParameters {
  package private(set) var types: [UInt32] = []
  private(set) var bytes: [UInt8] = []
  /// Where the value of each parameter begins and ends in `bytes`; `nil` for `NULL`.
  private(set) var ranges: [Range<Int>?] = []

  package init() {}

  package mutating func append(null type: PostgreSQLType) {
    types.append(type.rawValue)
    ranges.append(nil)
  }

  package mutating func append(_ value: Bool) { append([value ? 1 : 0], .boolean) }

  package mutating func append(_ value: Int64) {
    withUnsafeBytes(of: value.bigEndian) { append($0, .integer) }
  }

  /// Appends a number; one that is not a number is `NULL`, as in SQLite.
  package mutating func append(_ value: Double) {
    if value.isNaN { return append(null: .real) }
    withUnsafeBytes(of: value.bitPattern.bigEndian) { append($0, .real) }
  }

  /// Appends a text; a character U+0000, which PostgreSQL can't store, becomes U+FFFD.
  package mutating func append(_ value: String) {
    append(value.withoutNull.utf8, .text)
  }

  package mutating func append(_ value: [UInt8]) { append(value, .bytes) }

  private mutating func append(_ value: some Sequence<UInt8>, _ type: PostgreSQLType) {
    types.append(type.rawValue)
    let start = bytes.count
    bytes.append(contentsOf: value)
    ranges.append(start..<bytes.count)
  }

  /// Calls a body with the addresses, the lengths and the formats that libpq takes.
  func withPointers<Value>(
    _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> Value
  ) -> Value {
    // An empty value needs an address, too: none means `NULL`.
    (bytes + [0]).withUnsafeBytes { buffer in
      let values = ranges.map { range in
        range.flatMap { buffer.baseAddress?.advanced(by: $0.lowerBound) }
          .map { $0.assumingMemoryBound(to: CChar.self) }
      }
      return body(
        values, ranges.map { Int32($0?.count ?? 0) }, [Int32](repeating: 1, count: ranges.count))
    }
  }
}

extension String {
  /// The text as PostgreSQL can store it: a character U+0000 becomes U+FFFD.
  package var withoutNull: String {
    guard utf8.contains(0) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
  }
}
