import PipelineModel
import Records

/// A prepared statement, owned by its connection's cache and used by one thread at a time, as that is.
final class Statement {
  // Unowned, because the connection owns its statements.
  private unowned let connection: Connection
  private let prepared: any DatabaseStatement
  /// Whether it has been bound or stepped since the last `reset`.
  private(set) var isBusy = false

  init(_ prepared: any DatabaseStatement, on connection: Connection) {
    self.prepared = prepared
    self.connection = connection
  }

  func finalize() { prepared.finalize() }

  func bind(_ values: [any SQLBindable]) throws(CatalogError) {
    isBusy = true
    try prepared.bind(values)
  }

  /// Executes the statement, perhaps a little later.
  func perform() throws(CatalogError) { try prepared.perform() }

  /// Advances to the next row; returns `false` at the end.
  func step() throws(CatalogError) -> Bool { try prepared.step() }

  /// Prepares the statement for reuse.
  func reset() {
    prepared.reset()
    isBusy = false
  }

  func isNull(_ column: Int) -> Bool { prepared.isNull(column) }

  func int64(_ column: Int) -> Int64 { prepared.int64(column) }

  func int(_ column: Int) -> Int { Int(int64(column)) }

  func bool(_ column: Int) -> Bool { int64(column) != 0 }

  func double(_ column: Int) -> Double { prepared.double(column) }

  func text(_ column: Int) -> String { prepared.text(column) }

  func blob(_ column: Int) -> [UInt8] { prepared.blob(column) }

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
