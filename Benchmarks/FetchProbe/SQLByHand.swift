import CSQLite

/// What somebody who knows the tables would write to get the same records as a `Fetch`.
///
/// One statement a question, prepared once; each row becomes a value with the same properties as `Asset`.
final class SQLByHand {
  /// The same properties as those of `Asset`.
  struct Record {
    var id: [UInt8]
    var digest: [UInt8]
    var texts: [String?]
    var tags: [String]
    var albums: [String]
    var times: [Int64?]
    var numbers: [Double?]
  }

  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  init(_ path: String) throws {
    try check(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil))
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  private static let columns = """
    SELECT asset.id, asset.digest,
      picture.name, picture.path, CAST(source.path AS TEXT), asset_state.state,
      (SELECT text FROM term WHERE id = picture.type), picture.kind,
      (SELECT text FROM term WHERE id = picture.camera),
      (SELECT text FROM term WHERE id = picture.lens), picture.title, picture.caption,
      member.role,
      (SELECT group_concat(text, char(31)) FROM (SELECT term.text FROM keyword
        JOIN term ON term.id = keyword.term WHERE keyword.picture = picture.number
        ORDER BY keyword.position)),
      (SELECT group_concat(text, char(31)) FROM (SELECT term.text FROM album
        JOIN term ON term.id = album.term WHERE album.picture = picture.number
        ORDER BY album.position)),
      picture.taken, picture.imported, picture.modified, picture.trashed,
      picture.size, picture.width, picture.height, picture.iso, picture.aperture,
      picture.exposure, picture.focal, picture.rating, picture.latitude, picture.longitude
    FROM picture CROSS JOIN asset ON asset.id = picture.asset
      CROSS JOIN asset_state ON asset_state.id = asset.id
      CROSS JOIN source ON source.id = asset.source
      LEFT JOIN member ON member.asset = asset.id

    """

  /// - Parameter rest: the statement from `WHERE` on.
  func records(_ rest: String) throws -> [Record] {
    let statement = try prepared(Self.columns + rest)
    defer { sqlite3_reset(statement) }
    var records: [Record] = []
    while true {
      let result = sqlite3_step(statement)
      if result == SQLITE_DONE { return records }
      guard result == SQLITE_ROW else { throw Failure(database) }
      records.append(Self.record(statement))
    }
  }

  private static func record(_ statement: OpaquePointer) -> Record {
    func text(_ column: Int32) -> String? {
      sqlite3_column_text(statement, column).map { String(cString: $0) }
    }
    func list(_ column: Int32) -> [String] {
      text(column)?.split(separator: "\u{1F}").map(String.init) ?? []
    }
    func bytes(_ column: Int32) -> [UInt8] {
      let count = Int(sqlite3_column_bytes(statement, column))
      return Array(
        UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count))
    }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
    return Record(
      id: bytes(0), digest: bytes(1), texts: (2...12).map(text), tags: list(13), albums: list(14),
      times: (15...18).map { isNull($0) ? nil : sqlite3_column_int64(statement, $0) },
      numbers: (19...28).map { isNull($0) ? nil : sqlite3_column_double(statement, $0) })
  }

  private func prepared(_ sql: String) throws -> OpaquePointer {
    if let known = statements[sql] { return known }
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v2(database, sql, -1, &statement, nil))
    guard let statement else { throw Failure(database) }
    statements[sql] = statement
    return statement
  }

  private func check(_ result: Int32) throws {
    if result != SQLITE_OK { throw Failure(database) }
  }

  struct Failure: Error {
    let message: String

    init(_ database: OpaquePointer?) { message = String(cString: sqlite3_errmsg(database)) }
  }
}
