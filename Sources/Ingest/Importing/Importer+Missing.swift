import Catalog
import Configuration
import Files
import PipelineModel

/// Handling of known files that a complete scan of the source did not find.
extension Importer {
  /// Records that they are gone, unless they are too many to be believed.
  ///
  /// - Parameters:
  ///   - known: how many files should be there.
  ///   - configuration: the source's, for a second scan if not all paths were kept.
  /// - Returns: why nothing was recorded, an error of code `source`; `nil` if everything was.
  func recordMissing(
    _ missing: MissingFiles, of known: Int, configuration: SourceConfiguration
  ) throws(IngestError) -> IngestError? {
    let rebuilt = RebuiltCatalog(library.catalog)
    let isConfirmed = try translating { try rebuilt.isConfirmed(source.root) }
    if isConfirmed, missing.isExceeded(of: known, renames: renames) {
      let description = missing.description(of: known, in: source.root)
      guard report.acceptsMissing(description) else {
        return IngestError(
          .source,
          "\(description) Nothing was recorded about them. If they are meant to be gone, run "
            + "`pipeline run --accept-missing` while no `watch` is running.", path: source.root)
      }
    }
    try noteGone(missing, configuration: configuration)
    if !isConfirmed { try translating { try rebuilt.confirm(source.root) } }
    return nil
  }

  private func noteGone(
    _ missing: MissingFiles, configuration: SourceConfiguration
  ) throws(IngestError) {
    if missing.hasAllPaths {
      for path in missing.paths { try noteGone(path) }
      return
    }
    var comparison = try SourceComparison(
      of: source, configuration: configuration, with: library, now: .now)
    while let finding = try comparison.next() {
      if case .missing(let sighting) = finding { try noteGone(sighting.path) }
    }
  }

  private func noteGone(_ path: BytePath) throws(IngestError) {
    // It may have appeared, and been imported, since the folder's names were read.
    guard isGone(path) else { return }
    let known = try translating {
      try library.catalog.sighting(source: source.root, path: path)
    }
    if let known { try note(known.gone(at: .now)) }
  }

  private func isGone(_ path: BytePath) -> Bool {
    // A folder ignored as a whole is recorded with a slash after its name.
    let plain = path.bytes.last == UInt8(ascii: "/") ? BytePath(bytes: path.bytes.dropLast()) : path
    do throws(FileError) {
      let kind = try source.folder.openParent(of: plain).status(of: plain.lastComponent).kind
      return (kind == .folder) != (plain != path)
    } catch {
      // A path that can't be examined may exist; through a link it does not.
      return error.code == .notFound || error.code == .link
    }
  }
}
