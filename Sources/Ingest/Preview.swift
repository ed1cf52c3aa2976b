package import Catalog
package import Configuration
import Files
package import PipelineModel

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

/// Examines sources as a run would, and changes nothing.
package struct Preview {
  private let library: LibraryFolder?
  private let catalog: CatalogReader?

  /// Creates a preview.
  ///
  /// - Parameters:
  ///   - library: the library, if it exists.
  ///   - catalog: its catalog, if it exists.
  package init(library: LibraryFolder?, catalog: CatalogReader?) {
    self.library = library
    self.catalog = catalog
  }

  /// Calls `body` with every path that a run would act upon.
  ///
  /// - Throws: `IngestError` of code `source` if the source can't be read.
  package func look(
    at configuration: SourceConfiguration, _ body: (PreviewedPath) -> Void
  ) throws(IngestError) {
    var comparison = try translating {
      let source = try IngestSource(configuration)
      let scan = try SourceScan(
        source.folder, rules: SourceRules(configuration), isRecursive: configuration.recursive,
        exclusion: LibraryExclusion(library.map { [$0.folder] } ?? []))
      return try SourceComparison(
        scan: scan, cursor: try catalog?.sightings(of: configuration.path), source: source,
        now: .now)
    }
    while let finding = try comparison.next() {
      switch finding {
      case .unchanged, .restored:
        break
      case .candidate(let candidate) where candidate.mayBeUnchanged:
        body(
          PreviewedPath(
            path: configuration.path.appending(candidate.path), action: .note, bytes: 0,
            reason: "Its status has changed; its bytes are read and compared."))
      case .candidate(let candidate):
        body(
          PreviewedPath(
            path: configuration.path.appending(candidate.path), action: .take,
            bytes: candidate.identity.size, reason: nil))
      case .awaitsRemoval(let sighting, _):
        body(
          PreviewedPath(
            path: configuration.path.appending(sighting.path), action: .remove, bytes: 0,
            reason: "Its bytes are safe."))
      case .changed(let sighting), .missing(let sighting):
        let event = FileEvent(sighting)
        let reason = sighting.reason.map { "\(sighting.state.rawValue): \($0)" }
        body(PreviewedPath(path: event.path, action: .note, bytes: 0, reason: reason))
      }
    }
  }
}
