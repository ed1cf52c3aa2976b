import Catalog
import Configuration
import Files
import PipelineModel

/// What becomes of known files that a whole look at the source did not come across.
extension HandOff {
  /// Records that they are gone, unless they are too many to be believed.
  ///
  /// - Parameters:
  ///   - known: how many files ought to be there.
  ///   - configuration: the source's, for a second look where not all paths were kept.
  /// - Returns: why nothing was recorded, an error of code `source`; `nil` if all was.
  func settle(
    _ missing: MissingShare, of known: Int, configuration: SourceConfiguration
  ) throws(IngestError) -> IngestError? {
    let rebuilt = RebuiltCatalog(library.catalog)
    let isConfirmed = try translating { try rebuilt.isConfirmed(source.root) }
    if isConfirmed, missing.isExceeded(of: known, renames: renames) {
      let description = missing.description(of: known, in: source.root)
      guard report.acceptsMissing(description) else {
        return IngestError(
          .source,
          "\(description) Nothing is recorded about them. If they are meant to be gone, say so with "
            + "`pipeline run --accept-missing`, while no `watch` is at work.", path: source.root)
      }
    }
    try noteGone(missing, configuration: configuration)
    if !isConfirmed { try translating { try rebuilt.confirm(source.root) } }
    return nil
  }

  private func noteGone(
    _ missing: MissingShare, configuration: SourceConfiguration
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
    // It may have come, and been taken, since the folder's names were read.
    guard isGone(path) else { return }
    let known = try translating {
      try library.catalog.sighting(source: source.root, path: path)
    }
    if let known { try note(known.gone(at: .now)) }
  }

  private func isGone(_ path: BytePath) -> Bool {
    // A folder that was ignored as a whole is known with a slash behind its name.
    let plain = path.bytes.last == UInt8(ascii: "/") ? BytePath(bytes: path.bytes.dropLast()) : path
    do throws(FileError) {
      let kind = try source.folder.openParent(of: plain).status(of: plain.lastComponent).kind
      return (kind == .folder) != (plain != path)
    } catch {
      // What can't be looked at may be there; through a link it is not.
      return error.code == .notFound || error.code == .link
    }
  }
}
