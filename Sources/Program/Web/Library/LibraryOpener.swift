import Catalog
import Ingest
import PipelineModel
import Synchronization

/// Opens the library for a thread of the process that answers.
///
/// That process can't connect to a database from its sandbox, so it makes all its connections before.
final class LibraryOpener: Sendable {
  private let layout: LibraryLayout
  private let isImmutable: Bool
  /// Connections that nobody has yet.
  private let free: Mutex<[CatalogReader]>

  /// - Parameter connections: how many connections to a database to make; for a file none is needed.
  init(_ layout: LibraryLayout, isImmutable: Bool, connections: Int = 0) throws {
    self.layout = layout
    self.isImmutable = isImmutable
    var made: [CatalogReader] = []
    if layout.database != nil {
      for _ in 0..<connections {
        made.append(
          try CatalogReader.open(at: layout.catalogPlace, immutable: false, isConfined: true))
      }
    }
    free = Mutex(made)
  }

  /// Whether connections can't be made anew.
  var isConfined: Bool { layout.database != nil }

  /// Opens the library.
  ///
  /// - Parameter limit: after how long a database may end a statement.
  /// - Throws: also if no connection is left.
  func open(
    keptDamage: KeptDamageList? = nil, limit: Duration? = nil
  ) throws -> ReadableLibrary {
    guard isConfined else {
      return try ReadableLibrary(layout, isImmutable: isImmutable, keptDamage: keptDamage)
    }
    guard let catalog = free.withLock({ $0.popLast() }) else { throw HTTPError.busy }
    if let limit { try catalog.limitStatements(to: limit) }
    return try ReadableLibrary(layout, keptDamage: keptDamage, opened: catalog)
  }
}
