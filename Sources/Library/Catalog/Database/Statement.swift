import CSQLite
import PipelineModel
import Records

/// A prepared statement, owned by its connection's cache and used by one thread at a time, as that is.
final class Statement {
  // Unowned, because the connection owns its statements.
  private unowned let connection: Connection
  private let handle: OpaquePointer
  /// Whether it has been bound or stepped since the last `reset`.
  private(set) var isBusy = false

  init(_ sql: String, on connection: Connection) throws(CatalogError) {
    var statement: OpaquePointer?
    let code = HalfWrittenIndex.passing {
      sqlite3_prepare_v3(
        connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    }
    guard code == SQLITE_OK, let statement else {
      throw connection.error(code, during: sql)
    }
    self.connection = connection
    handle = statement
  }

  func finalize() { sqlite3_finalize(handle) }

  func bind(_ values: [any SQLBindable]) throws(CatalogError) {
    isBusy = true
    for (index, value) in values.enumerated() {
      let code = bind(value.sqlValue, at: Int32(index + 1))
      guard code == SQLITE_OK else { throw connection.error(code, during: sql) }
    }
  }

  private func bind(_ value: SQLValue, at index: Int32) -> Int32 {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .real(let number): sqlite3_bind_double(handle, index, number)
    case .text(var text):
      text.withUTF8 {
        // An empty buffer may have no address, which would bind NULL.
        $0.withMemoryRebound(to: CChar.self) { characters in
          characters.baseAddress.map {
            pipeline_sqlite_bind_text(handle, index, $0, UInt64(characters.count))
          } ?? pipeline_sqlite_bind_text(handle, index, "", 0)
        }
      }
    case .blob(let bytes):
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(handle, index, 0)
        : pipeline_sqlite_bind_blob(handle, index, bytes, UInt64(bytes.count))
    }
  }

  /// Advances to the next row; returns `false` at the end.
  func step() throws(CatalogError) -> Bool {
    let code = HalfWrittenIndex.passing {
      sqlite3_step(handle)
    } again: {
      // Its parameters stay.
      sqlite3_reset(handle)
    }
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw connection.error(code, during: sql)
    }
  }

  /// Prepares the statement for reuse; ignores the result code, which `step` has reported.
  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
    isBusy = false
  }

  private var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  func isNull(_ column: Int) -> Bool {
    sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
  }

  func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

  func int(_ column: Int) -> Int { Int(int64(column)) }

  func bool(_ column: Int) -> Bool { int64(column) != 0 }

  func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

  func text(_ column: Int) -> String {
    guard let characters = sqlite3_column_text(handle, Int32(column)) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return String(decoding: UnsafeBufferPointer(start: characters, count: count), as: UTF8.self)
  }

  func blob(_ column: Int) -> [UInt8] {
    guard let bytes = sqlite3_column_blob(handle, Int32(column)) else { return [] }
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  func optional<Value>(_ column: Int, _ read: (Int) -> Value) -> Value? {
    isNull(column) ? nil : read(column)
  }

  func path(_ column: Int) -> BytePath { BytePath(bytes: blob(column)) }

  func timestamp(_ column: Int) -> Timestamp { Timestamp(microseconds: int64(column)) }

  func assetID(_ column: Int) throws(CatalogError) -> AssetID {
    guard let id = AssetID(bytes: blob(column)) else { throw unreadable("a key") }
    return id
  }

  func optionalAssetID(_ column: Int) throws(CatalogError) -> AssetID? {
    isNull(column) ? nil : try assetID(column)
  }

  func digest(_ column: Int) throws(CatalogError) -> Digest {
    guard let digest = Digest(bytes: blob(column)) else { throw unreadable("a digest") }
    return digest
  }

  func value<Value: RawRepresentable>(
    _ column: Int, as type: Value.Type
  ) throws(CatalogError) -> Value where Value.RawValue == String {
    guard let value = Value(rawValue: text(column)) else { throw unreadable("a state") }
    return value
  }

  func json(_ column: Int) throws(CatalogError) -> JSONValue {
    do throws(JSONError) {
      return try JSONReader.read(blob(column)).value
    } catch {
      throw unreadable("some JSON")
    }
  }

  /// The JSON of a column; `nil`, not JSON's null, for `NULL`.
  func optionalJSON(_ column: Int) throws(CatalogError) -> JSONValue? {
    if isNull(column) { return nil }
    return try json(column)
  }

  private func unreadable(_ what: String) -> CatalogError {
    CatalogError(
      .corrupt,
      "\(connection.file.name) “\(connection.path)” contains \(what) that can't be read. "
        + connection.file.advice,
      path: connection.path)
  }
}

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
