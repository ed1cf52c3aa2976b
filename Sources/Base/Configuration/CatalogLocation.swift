package import PipelineModel

/// Where `pipeline.json` says that the catalog is.
package enum CatalogLocation: Hashable, Sendable {
  /// A folder for its file.
  case folder(BytePath)
  /// A database of PostgreSQL.
  case database(DatabaseLocation)

  package var folder: BytePath? { if case .folder(let path) = self { path } else { nil } }
  package var database: DatabaseLocation? {
    if case .database(let location) = self { location } else { nil }
  }
}
