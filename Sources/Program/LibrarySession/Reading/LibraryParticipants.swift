import Catalog
import Configuration
import Ingest
import PipelineModel
package import Records

/// The processes that work on a library; asked without its folder, which need not be on this machine.
package struct LibraryParticipants {
  private let setup: LibrarySetup

  package init(_ search: ConfigurationSearch) throws { setup = try LibrarySetup(search) }

  /// - Throws: `ConfigurationErrors` if the catalog is a file.
  package func all() throws -> [ParticipantRecord] {
    guard setup.layout.database != nil else { throw setup.noServer("nodes") }
    let reader = try CatalogReader.open(at: setup.layout.catalogPlace, immutable: false)
    defer { try? reader.close() }
    return try reader.participants()
  }
}

extension LibrarySetup {
  /// The error that a verb needs a catalog in PostgreSQL.
  func noServer(_ verb: String) -> ConfigurationErrors {
    ConfigurationErrors(
      ConfigurationError(
        code: .badValue,
        message:
          "`pipeline \(verb)` needs a library whose “catalog” is in PostgreSQL: with a file, one process at a "
          + "time works on it.", pointer: "/catalog", file: configuration.file))
  }
}
