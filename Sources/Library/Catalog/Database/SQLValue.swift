import PipelineModel

/// A value as databases store it.
enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

protocol SQLBindable {
  var sqlValue: SQLValue { get }
}

extension SQLValue: SQLBindable {
  var sqlValue: SQLValue { self }
}

extension Int64: SQLBindable {
  var sqlValue: SQLValue { .integer(self) }
}

extension Int: SQLBindable {
  var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension UInt32: SQLBindable {
  var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension Bool: SQLBindable {
  var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension Double: SQLBindable {
  var sqlValue: SQLValue { .real(self) }
}

extension String: SQLBindable {
  var sqlValue: SQLValue { .text(self) }
}

extension AssetID: SQLBindable {
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Digest: SQLBindable {
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Fingerprint: SQLBindable {
  var sqlValue: SQLValue { .blob(digest.bytes) }
}

extension BytePath: SQLBindable {
  var sqlValue: SQLValue { .blob(bytes) }
}

extension Timestamp: SQLBindable {
  var sqlValue: SQLValue { .integer(microseconds) }
}

extension Optional: SQLBindable where Wrapped: SQLBindable {
  // Not a key path, which would be looked up for each bound value.
  var sqlValue: SQLValue { if let self { self.sqlValue } else { .null } }
}
