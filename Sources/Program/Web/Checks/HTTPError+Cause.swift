import LibrarySession
import Query
import Records

extension HTTPError {
  /// What a client is told of an error; what only the owner may know is in the server's log.
  init(for error: any Error) {
    switch error {
    case let error as HTTPError: self = error
    case let error as QueryError: self = HTTPError(400, "query", error.message)
    case let error as CatalogError where error.code == .interrupted:
      self = .slow
    case let error as CatalogError where error.code == .unreachable:
      LostDatabase.shared.note()
      self = .lost
    case let error as CatalogError where error.code == .noAsset:
      self = HTTPError(404, "noAsset", error.message)
    default:
      ServerLog.shared.write(Failure(error).text)
      self = HTTPError(
        500, "failed", "The library can't be read now; the server's log says why.")
    }
  }
}
