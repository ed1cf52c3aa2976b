package import PipelineModel

/// Where a catalog is.
package enum CatalogPlace: Hashable, Sendable {
  /// An SQLite file.
  case file(BytePath)
  /// A database of PostgreSQL.
  case database(DatabaseLocation)

  /// What messages call it.
  package var name: BytePath {
    switch self {
    case .file(let path): path
    case .database(let address): BytePath(address.description)
    }
  }
}
