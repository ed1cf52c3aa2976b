import CSQLite
import PipelineModel
package import Records

extension CatalogError {
  /// Whether it is about the bytes of renditions alone, without which the rest of a library is whole.
  package var concernsRenditions: Bool {
    code == .unreadableBytes
      || path?.lastComponent == RenditionDatabase.name && code != .interrupted
  }

  /// The error of a statement that was ended because nobody waits for its result.
  static func interrupted(_ path: BytePath) -> CatalogError {
    CatalogError(.interrupted, "Reading the catalog “\(path)” was stopped.", path: path)
  }

  /// What helps against a catalog that is missing or damaged, in SQLite or PostgreSQL.
  static let advice = "Run “pipeline rebuild-catalog” to rebuild it from manifest and originals."

  /// Errors of `write` for lack of space: ENOSPC, EDQUOT, EFBIG.
  private static let noRoom: Set<Int32> = [28, 122, 27]
  /// ENOENT and ENOTDIR of `open`.
  private static let absent: Set<Int32> = [2, 20]

  /// SQLITE_IOERR_SHORT_READ, a macro that Swift does not import.
  private static let shortRead = SQLITE_IOERR | 2 << 8

  /// Creates an error from SQLite's extended code and message, never with bound values.
  ///
  /// Source: sqlite.org/rescode.html.
  init(
    sqlite code: Int32, systemError: Int32, detail: String, path: BytePath, of file: DatabaseFile,
    sql: String?
  ) {
    let subject = "\(file.name) “\(path)”"
    let cause = "(SQLite \(code): \(detail))"
    let full =
      code & 0xFF == SQLITE_FULL || code & 0xFF == SQLITE_IOERR && Self.noRoom.contains(systemError)
    // The index of a log speaks of more than the log has: somebody removed the log.
    let isCut = code == Self.shortRead && file == .renditions
    self =
      switch code & 0xFF {
      case _ where full:
        CatalogError(.noSpace, "\(subject) can't grow. Make space on its disk. \(cause)")
      case _ where isCut, SQLITE_CORRUPT, SQLITE_NOTADB:
        CatalogError(.corrupt, "\(subject) is damaged or not \(file.kind). \(file.advice) \(cause)")
      case SQLITE_CANTOPEN where Self.absent.contains(systemError):
        CatalogError(.missing, "\(subject) is missing. \(file.absenceAdvice)")
      case SQLITE_READONLY where code == HalfWrittenIndex.code:
        CatalogError(
          .readOnly,
          "\(subject) was being changed by a program that was killed. The next command of somebody who "
            + "may write there, such as “pipeline status”, puts it in order. \(cause)")
      case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
        CatalogError(
          .readOnly, "\(subject) can't be opened or written. Check who may write to it. \(cause)")
      case SQLITE_INTERRUPT:
        .interrupted(path)
      case SQLITE_BUSY, SQLITE_LOCKED:
        CatalogError(
          .database,
          "\(subject) is locked: another program holds a transaction. End that, and try again. "
            + cause)
      default:
        CatalogError(.database, "\(subject) failed at “\(Self.line(sql))”. \(cause)")
      }
    self.path = path
    databaseCode = code
  }

  /// A statement on one line.
  static func line(_ sql: String?) -> String {
    guard let sql else { return "open" }
    return sql.split { $0.isWhitespace }.joined(separator: " ")
  }
}
