import CSQLite
import PipelineModel

extension CatalogError {
  static let advice = "Run “pipeline rebuild-catalog” to rebuild it from manifest and originals."

  /// Errors of `write` for lack of space: ENOSPC, EDQUOT, EFBIG.
  private static let noRoom: Set<Int32> = [28, 122, 27]
  /// ENOENT and ENOTDIR of `open`.
  private static let absent: Set<Int32> = [2, 20]

  /// Creates an error from SQLite's extended code and message, never with bound values.
  ///
  /// Source: sqlite.org/rescode.html.
  init(sqlite code: Int32, systemError: Int32, detail: String, path: BytePath, sql: String?) {
    let subject = "The catalog “\(path)”"
    let cause = "(SQLite \(code): \(detail))"
    let full =
      code & 0xFF == SQLITE_FULL || code & 0xFF == SQLITE_IOERR && Self.noRoom.contains(systemError)
    self =
      switch code & 0xFF {
      case _ where full:
        CatalogError(.noSpace, "\(subject) can't grow. Make space on its disk. \(cause)")
      case SQLITE_CORRUPT, SQLITE_NOTADB:
        CatalogError(.corrupt, "\(subject) is damaged or not a catalog. \(Self.advice) \(cause)")
      case SQLITE_CANTOPEN where Self.absent.contains(systemError):
        CatalogError(.missing, "\(subject) is missing. \(Self.advice)")
      case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
        CatalogError(
          .readOnly, "\(subject) can't be opened or written. Check who may write to it. \(cause)")
      case SQLITE_BUSY, SQLITE_LOCKED:
        CatalogError(
          .database,
          "\(subject) is locked: another program holds a transaction. End that, and try again. "
            + cause)
      default:
        CatalogError(.database, "\(subject) failed at “\(Self.line(sql))”. \(cause)")
      }
    self.path = path
    sqliteCode = code
  }

  private static func line(_ sql: String?) -> String {
    guard let sql else { return "open" }
    return sql.split { $0.isWhitespace }.joined(separator: " ")
  }
}
