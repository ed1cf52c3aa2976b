import Catalog
import Configuration
import Files
import PipelineModel
import Records

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
  ) throws -> IngestError? {
    let rebuilt = RebuiltCatalog(library.catalog)
    let isConfirmed = try rebuilt.isConfirmed(source.recorded)
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
    if !isConfirmed { try rebuilt.confirm(source.recorded) }
    return nil
  }

  private func noteGone(_ missing: MissingFiles, configuration: SourceConfiguration) throws {
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

  private func noteGone(_ path: BytePath) throws {
    // It may have appeared, and been imported, since the folder's names were read.
    guard isGone(path) else { return }
    let known = try library.catalog.sighting(source: source.recorded, path: path)
    if let known { try note(known.gone(at: .now)) }
  }

  private func isGone(_ path: BytePath) -> Bool {
    // A folder ignored as a whole is recorded with a slash after its name.
    let plain = path.bytes.last == UInt8(ascii: "/") ? BytePath(bytes: path.bytes.dropLast()) : path
    do throws(FileError) {
      let kind = try source.folder.status(below: plain).kind
      return (kind == .folder) != (plain != path)
    } catch {
      // A path that can't be examined may exist; through a link it does not.
      return error.code == .notFound || error.code == .link
    }
  }
}

/// The share of a source's known files that a scan did not find, and whether to believe it.
///
/// A folder that was moved away, a disk that shows another volume, a share that returns nothing:
/// each looks as if somebody had removed the files. So missing files are recorded after the scan,
/// and only if they are a limited share of all.
struct MissingFiles {
  /// This many may always be missing.
  static let alwaysAllowed = 20
  /// The most paths kept; if there are more, a second scan finds them.
  static let keptPaths = 10_000

  /// The share of known files that may be missing, from 0 to 1.
  let allowed: Double
  private(set) var count = 0
  /// Their paths, up to `keptPaths`.
  private(set) var paths: [BytePath] = []

  /// The number of renames found before the scan.
  private let renamesBefore: Int

  /// - Parameter renames: the number of renames found so far.
  init(allowed: Double, renames: Int) {
    self.allowed = allowed
    renamesBefore = renames
  }

  mutating func add(_ path: BytePath) {
    count += 1
    if paths.count < Self.keptPaths { paths.append(path) }
  }

  var hasAllPaths: Bool { paths.count == count }

  /// Whether too many files are missing to be believed.
  ///
  /// - Parameter renames: the number of renames found by now; those files are not lost.
  func isExceeded(of known: Int, renames: Int) -> Bool {
    let lost = count - max(0, renames - renamesBefore)
    return lost > Self.alwaysAllowed && Double(lost) > allowed * Double(known)
  }

  /// A description of what is missing, and why that may be, as sentences.
  func description(of known: Int, in source: BytePath) -> String {
    "\(count) of \(known) known files of the source “\(source.printable)” are missing. Perhaps they "
      + "were moved, or their disk is not there."
  }
}
