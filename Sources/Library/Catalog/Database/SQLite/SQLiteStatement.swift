import CSQLite
import PipelineModel
import Records

/// A prepared statement of SQLite.
final class SQLiteStatement: DatabaseStatement {
  // Unowned, because the connection outlives its statements.
  private unowned let driver: SQLiteDriver
  private let handle: OpaquePointer

  init(_ sql: String, on driver: SQLiteDriver) throws(CatalogError) {
    var statement: OpaquePointer?
    let code = HalfWrittenIndex.passing {
      sqlite3_prepare_v3(
        driver.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    }
    guard code == SQLITE_OK, let statement else {
      throw driver.error(code, during: sql)
    }
    self.driver = driver
    handle = statement
  }

  func finalize() { sqlite3_finalize(handle) }

  func bind(_ values: [any SQLBindable]) throws(CatalogError) {
    for (index, value) in values.enumerated() {
      let code = bind(value.sqlValue, at: Int32(index + 1))
      guard code == SQLITE_OK else { throw driver.error(code, during: sql) }
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

  func perform() throws(CatalogError) { while try step() {} }

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
    default: throw driver.error(code, during: sql)
    }
  }

  /// Prepares the statement for reuse; ignores the result code, which `step` has reported.
  func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  private var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  func isNull(_ column: Int) -> Bool {
    sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
  }

  func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

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
}
