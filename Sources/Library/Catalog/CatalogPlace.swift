package import PipelineModel

/// Where a catalog is.
package enum CatalogPlace: Hashable, Sendable {
  /// An SQLite file.
  case file(BytePath)
  /// A database of PostgreSQL.
  ///
  /// - folder: has the bytes of renditions that are not files.
  /// - model: a file with whose owner and permissions such a database is made.
  case database(DatabaseLocation, folder: BytePath, model: BytePath)

  /// What messages call it.
  package var name: BytePath {
    switch self {
    case .file(let path): path
    case .database(let address, _, _): BytePath(address.description)
    }
  }

  /// The folder of the database of renditions.
  var folder: BytePath {
    switch self {
    case .file(let path): path.parent
    case .database(_, let folder, _): folder
    }
  }

  /// A file whose owner and permissions the database of renditions gets.
  var model: BytePath {
    switch self {
    case .file(let path): path
    case .database(_, _, let model): model
    }
  }
}
