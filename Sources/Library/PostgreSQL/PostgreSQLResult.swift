import CPostgreSQL

/// The rows that a statement returned, in PostgreSQL's binary format.
package final class PostgreSQLResult {
  private let functions: pipeline_postgresql
  private let handle: OpaquePointer
  package let rowCount: Int
  private let types: [UInt32]

  init(_ handle: OpaquePointer, _ library: PostgreSQLLibrary) {
    self.handle = handle
    functions = library.functions
    rowCount = Int(functions.PQntuples(handle))
    let functions = functions
    types = (0..<functions.PQnfields(handle)).map { functions.PQftype(handle, $0) }
  }

  deinit { functions.PQclear(handle) }

  /// The number of rows that the statement inserted, changed or deleted.
  package var changedRows: Int {
    // Of a selection, or a page of a cursor, the command tells the number of its rows.
    let status = functions.PQcmdStatus(handle).map { String(cString: $0) } ?? ""
    if status.hasPrefix("SELECT") || status.hasPrefix("FETCH") { return 0 }
    return functions.PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0
  }

  package func isNull(_ row: Int, _ column: Int) -> Bool {
    functions.PQgetisnull(handle, Int32(row), Int32(column)) != 0
  }

  /// The bytes of a value; valid as long as the result.
  private func raw(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: functions.PQgetvalue(handle, Int32(row), Int32(column)),
      count: Int(functions.PQgetlength(handle, Int32(row), Int32(column))))
  }

  package func bytes(_ row: Int, _ column: Int) -> [UInt8] { Array(raw(row, column)) }

  /// The value as text: of a number its digits.
  package func text(_ row: Int, _ column: Int) -> String {
    switch types[column] {
    case Self.boolean, Self.int2, Self.int4, Self.int8: String(integer(row, column))
    case Self.float8, Self.numeric: "\(real(row, column))"
    default: String(decoding: raw(row, column), as: UTF8.self)
    }
  }

  /// The value as an integer: of a Boolean 0 or 1, of other numbers without the fraction.
  package func integer(_ row: Int, _ column: Int) -> Int64 {
    if isNull(row, column) { return 0 }
    let bytes = raw(row, column)
    switch types[column] {
    case Self.boolean, Self.int2, Self.int4, Self.int8: return Self.integer(bytes)
    case Self.float8, Self.numeric:
      return Int64(exactly: real(row, column).rounded(.towardZero)) ?? 0
    default: return Int64(String(decoding: bytes, as: UTF8.self)) ?? 0
    }
  }

  package func real(_ row: Int, _ column: Int) -> Double {
    if isNull(row, column) { return 0 }
    let bytes = raw(row, column)
    return switch types[column] {
    case Self.float8: Double(bitPattern: UInt64(bitPattern: Self.integer(bytes)))
    case Self.numeric: Self.numeric(bytes)
    case Self.boolean, Self.int2, Self.int4, Self.int8: Double(Self.integer(bytes))
    default: Double(String(decoding: bytes, as: UTF8.self)) ?? 0
    }
  }

  /// Reads an integer of one to eight bytes, most significant first. One byte is a Boolean.
  private static func integer(_ bytes: UnsafeRawBufferPointer) -> Int64 {
    let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let unused = 64 - 8 * min(bytes.count, 8)
    return unused >= 64 ? 0 : Int64(bitPattern: value << unused) >> unused
  }

  /// Reads a number of digits in base 10,000: their count, the weight of the first, sign and scale come
  /// before them. Source: `numeric_send` of PostgreSQL.
  private static func numeric(_ bytes: UnsafeRawBufferPointer) -> Double {
    func word(_ index: Int) -> Int16 {
      bytes.count < 2 * index + 2
        ? 0 : Int16(bitPattern: UInt16(bytes[2 * index]) << 8 | UInt16(bytes[2 * index + 1]))
    }
    let weight = Int(word(1))
    var digits = ""
    for index in 0..<max(0, Int(word(0))) {
      digits += String(10_000 + Int(word(4 + index))).dropFirst()
    }
    let exponent = 4 * (weight - max(0, Int(word(0))) + 1)
    let sign = UInt16(bitPattern: word(2)) == 0x4000 ? "-" : ""
    // By way of text, which is rounded once.
    return digits.isEmpty ? 0 : Double("\(sign)\(digits)e\(exponent)") ?? 0
  }

  private static let boolean = PostgreSQLType.boolean.rawValue
  private static let int2: UInt32 = 21
  private static let int4: UInt32 = 23
  private static let int8 = PostgreSQLType.integer.rawValue
  private static let float8 = PostgreSQLType.real.rawValue
  private static let numeric: UInt32 = 1700
}
