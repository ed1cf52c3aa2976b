package import Catalog
package import Configuration
import Files
package import PipelineModel
import Records

/// What a run would do with one path.
package struct PreviewedPath: Hashable, Sendable {
  package enum Action: String, Hashable, Sendable {
    /// Its bytes would be imported.
    case take
    /// Its bytes are safe; the source would be removed.
    case remove
    /// Its state would change without an import.
    case note
  }

  /// The absolute path.
  package let path: BytePath
  package let action: Action
  /// The number of bytes that would be imported.
  package let bytes: Int
  /// The state that would be recorded, and why, as a sentence.
  package let reason: String?
}

/// Compares sources with the catalog as a run would, and changes nothing.
///
/// Opens no file, so files that a run would leave alone because they are empty or being written
/// count as files to import.
package struct Preview {
  private let library: LibraryFolder?
  private let catalog: CatalogReader?

  /// A library or catalog that does not exist is `nil`.
  package init(library: LibraryFolder?, catalog: CatalogReader?) {
    self.library = library
    self.catalog = catalog
  }

  /// Calls `body` with every path that a run would act upon.
  ///
  /// - Throws: `FileError` if the source can't be read.
  package func look(at configuration: SourceConfiguration, _ body: (PreviewedPath) -> Void) throws {
    // The run itself warns of each.
    let limit = library?.layout.database.map { _ in PathLimit { _ in } }
    let source = try IngestSource(configuration, for: library?.layout)
    let scan = try SourceScan(
      source.folder, rules: SourceRules(configuration), isRecursive: configuration.recursive,
      exclusion: LibraryExclusion(library.map { [$0.folder] } ?? []), limit: limit)
    var comparison = try SourceComparison(
      scan: scan, cursor: try catalog?.sightings(of: source.recorded), source: source,
      now: .now)
    func tell(_ path: BytePath, _ action: PreviewedPath.Action, bytes: Int = 0, _ reason: String?) {
      let path = configuration.path.appending(path)
      body(PreviewedPath(path: path, action: action, bytes: bytes, reason: reason))
    }
    while let finding = try comparison.next() {
      switch finding {
      case .unchanged, .restored:
        break
      case .candidate(let candidate) where candidate.mayBeUnchanged:
        tell(candidate.path, .note, "Its status has changed; its bytes are read and compared.")
      case .candidate(let candidate):
        tell(candidate.path, .take, bytes: candidate.identity.size, nil)
      case .awaitsRemoval(let sighting, _):
        tell(sighting.path, .remove, "Its bytes are safe.")
      case .changed(let sighting), .missing(let sighting):
        let event = FileEvent(sighting)
        let reason = sighting.reason.map { "\(sighting.state.rawValue): \($0)" }
        body(PreviewedPath(path: event.path, action: .note, bytes: 0, reason: reason))
      }
    }
  }
}
