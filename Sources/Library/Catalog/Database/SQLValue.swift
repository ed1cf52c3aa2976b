import PipelineModel

/// A value as databases store it.
enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

/// The type of a value, for databases that ask for the types of parameters.
enum SQLType {
  case boolean, integer, real, text, blob
}

protocol SQLBindable {
  var sqlValue: SQLValue { get }
  /// The type of all values, also of `NULL`; `nil` if it differs from value to value.
  static var sqlType: SQLType? { get }
}

extension SQLValue: SQLBindable {
  static var sqlType: SQLType? { nil }
  var sqlValue: SQLValue { self }
}

extension Int64: SQLBindable {
  static var sqlType: SQLType? { .integer }
  var sqlValue: SQLValue { .integer(self) }
}

extension Int: SQLBindable {
  static var sqlType: SQLType? { .integer }
  var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension UInt32: SQLBindable {
  static var sqlType: SQLType? { .integer }
  var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension Bool: SQLBindable {
  static var sqlType: SQLType? { .boolean }
  var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension Double: SQLBindable {
  static var sqlType: SQLType? { .real }
  var sqlValue: SQLValue { .real(self) }
}

extension String: SQLBindable {
  static var sqlType: SQLType? { .text }
  var sqlValue: SQLValue { .text(self) }
}

extension AssetID: SQLBindable {
  static var sqlType: SQLType? { .blob }
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Digest: SQLBindable {
  static var sqlType: SQLType? { .blob }
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Fingerprint: SQLBindable {
  static var sqlType: SQLType? { .blob }
  var sqlValue: SQLValue { .blob(digest.bytes) }
}

extension BytePath: SQLBindable {
  static var sqlType: SQLType? { .blob }
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Timestamp: SQLBindable {
  static var sqlType: SQLType? { .integer }
  var sqlValue: SQLValue { .integer(microseconds) }
}

extension Optional: SQLBindable where Wrapped: SQLBindable {
  static var sqlType: SQLType? { Wrapped.sqlType }
  // Not a key path, which would be looked up for each bound value.
  var sqlValue: SQLValue { if let self { self.sqlValue } else { .null } }
}
