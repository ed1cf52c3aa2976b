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
    let reader = try CatalogReader.open(at: try place(), immutable: false)
    defer { try? reader.close() }
    return try reader.participants()
  }

  /// The process that has the library's lock; `nil` if there is none.
  package func holder() throws -> ParticipantRecord? {
    try all().first { $0.isTaker && $0.isLive }
  }

  /// Tells processes to end what they have begun, and to claim nothing more.
  ///
  /// - Parameter name: the name of their machine, or the ID of one.
  /// - Returns: those that were told.
  /// - Throws: `SessionError` of code `noProcess` if there is none of that name that could be.
  package func drain(_ name: String) throws -> [ParticipantRecord] {
    let told = try Catalog.drain(name, of: try place())
    guard told.isEmpty else { return told }
    let others = try all().filter { $0.node == name || $0.text == name }
    if let taker = others.first(where: { $0.isTaker && $0.isLive }) {
      throw SessionError(
        .noProcess,
        "`\(taker.verb)` on \(taker.node) (process \(taker.process)) has the library's lock: a signal ends it. "
          + "Only what works beside it can be drained.")
    }
    throw SessionError(
      .noProcess,
      others.isEmpty
        ? "No process or machine that is known to work on the library is called “\(name)”. `pipeline nodes` lists all."
        : "Nothing of “\(name)” is at work any more. `pipeline nodes` lists all.")
  }

  private func place() throws -> CatalogPlace {
    guard setup.layout.database != nil else { throw setup.noServer("nodes") }
    return setup.layout.catalogPlace
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
