import PipelineModel
import PostgreSQL
import Records

/// A prepared statement of PostgreSQL, whose rows are all read when the first is.
final class PostgreSQLStatement: DatabaseStatement {
  // Unowned, because the connection outlives its statements.
  private unowned let driver: PostgreSQLDriver
  private let sql: String
  private let translated: String
  /// The names under which the server knows it, by the types of its parameters.
  private var names: [[UInt32]: String] = [:]
  /// Which of the driver's connections knows the names.
  private var connection = 0
  private var parameters = PostgreSQLParameters()
  private var result: PostgreSQLResult?
  private var row = -1

  init(_ sql: String, on driver: PostgreSQLDriver) throws(CatalogError) {
    self.sql = sql
    self.driver = driver
    translated = try SQLTranslation.postgreSQL(sql)
  }

  func bind(_ values: [any SQLBindable]) throws(CatalogError) {
    parameters = PostgreSQLParameters()
    for value in values { parameters.append(value) }
  }

  func step() throws(CatalogError) -> Bool {
    if result == nil { result = try execute() }
    row += 1
    return row < result?.rowCount ?? 0
  }

  func perform() throws(CatalogError) {
    if try driver.enqueue(try name(), parameters, sql: sql) { return }
    _ = try step()
  }

  /// Executes the statement: again, if the connection was lost and no transaction with it.
  private func execute() throws(CatalogError) -> PostgreSQLResult {
    do throws(CatalogError) {
      return try driver.execute(try name(), parameters, sql: sql)
    } catch {
      guard driver.isLost, driver.isFirst, driver.canReconnect else { throw error }
      try driver.reconnect()
      return try driver.execute(try name(), parameters, sql: sql)
    }
  }

  /// The name of the statement for the types of the current parameters.
  private func name() throws(CatalogError) -> String {
    if connection != driver.connectionNumber {
      names = [:]
      connection = driver.connectionNumber
    }
    if let name = names[parameters.types] { return name }
    let name = try driver.prepare(translated, parameters.types, sql: sql)
    names[parameters.types] = name
    return name
  }

  func reset() {
    parameters = PostgreSQLParameters()
    result = nil
    row = -1
  }

  func finalize() {
    reset()
    if connection == driver.connectionNumber { driver.forget(Array(names.values)) }
    names = [:]
  }

  func isNull(_ column: Int) -> Bool { result?.isNull(row, column) ?? true }
  func int64(_ column: Int) -> Int64 { result?.integer(row, column) ?? 0 }
  func double(_ column: Int) -> Double { result?.real(row, column) ?? 0 }
  func text(_ column: Int) -> String { result?.text(row, column) ?? "" }
  func blob(_ column: Int) -> [UInt8] { result?.bytes(row, column) ?? [] }
}

extension PostgreSQLParameters {
  mutating func append(_ value: any SQLBindable) {
    let type = Swift.type(of: value).sqlType
    switch value.sqlValue {
    case .null: append(null: type.map { PostgreSQLType($0) } ?? .unknown)
    case .integer(let number):
      if type == .boolean { append(number != 0) } else { append(number) }
    case .real(let number): append(number)
    case .text(let text): append(text)
    case .blob(let bytes): append(bytes)
    }
  }
}

extension PostgreSQLType {
  fileprivate init(_ type: SQLType) {
    self =
      switch type {
      case .boolean: .boolean
      case .integer: .integer
      case .real: .real
      case .text: .text
      case .blob: .bytes
      }
  }
}
