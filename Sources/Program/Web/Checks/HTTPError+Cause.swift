import LibrarySession
import Query
import Records

extension HTTPError {
  /// What a client is told of an error; what only the owner may know is in the server's log.
  init(for error: any Error) {
    switch error {
    case let error as HTTPError where error == .busy || error == .lost:
      // Once the database is lost, there is nothing that another moment would change.
      self = LostDatabase.shared.isNoted ? .withoutDatabase : error
    case let error as HTTPError: self = error
    case let error as QueryError: self = HTTPError(400, "query", error.message)
    case let error as CatalogError where error.code == .interrupted:
      self = LostDatabase.shared.isNoted ? .withoutDatabase : .slow
    case let error as CatalogError where error.code == .unreachable:
      LostDatabase.shared.note()
      self = .withoutDatabase
    case let error as CatalogError where error.code == .noAsset:
      self = HTTPError(404, "noAsset", error.message)
    case is CatalogError where LostDatabase.shared.isNoted || LostDatabase.shared.isDenied:
      // Without a right on a schema, a table in it is one that does not exist.
      self = .withoutDatabase
    default:
      ServerLog.shared.write(Failure(error).text)
      self = HTTPError(
        500, "failed", "The library can't be read now; the server's log says why.")
    }
  }

  private static var withoutDatabase: HTTPError { LostDatabase.shared.isDenied ? .denied : .lost }
}
