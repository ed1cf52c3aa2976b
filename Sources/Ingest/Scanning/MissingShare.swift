import PipelineModel

/// How many of a source's known files a scan did not come across, and whether to believe it.
///
/// A folder that was moved away, a disk that shows another of its volumes, a
/// share that answers with nothing: all look as if somebody had removed the
/// files. So what is missing is recorded when the scan is over, and only if it
/// is no more than a share of all.
struct MissingShare {
  /// So many may always be missing.
  static let alwaysAllowed = 20
  /// So many paths are kept; where there are more, a second look finds them.
  static let keptPaths = 10_000

  /// The share of known files that may be missing.
  let allowed: Double
  /// How many known files are missing.
  private(set) var count = 0
  /// Which these are, as long as they are not too many to keep.
  private(set) var paths: [BytePath] = []

  /// How many renames had been seen when it was begun.
  private let renamesBefore: Int

  /// - Parameters:
  ///   - allowed: a share from 0 to 1.
  ///   - renames: how many renames were seen so far.
  init(allowed: Double, renames: Int) {
    self.allowed = allowed
    renamesBefore = renames
  }

  /// Counts a known file that is missing.
  mutating func add(_ path: BytePath) {
    count += 1
    if paths.count < Self.keptPaths { paths.append(path) }
  }

  /// Whether `paths` are all that are missing.
  var hasAllPaths: Bool { paths.count == count }

  /// Whether more are missing than is believed.
  ///
  /// - Parameters:
  ///   - known: how many files ought to be there.
  ///   - renames: how many renames were seen by now; those files are not lost.
  func isExceeded(of known: Int, renames: Int) -> Bool {
    let lost = count - max(0, renames - renamesBefore)
    return lost > Self.alwaysAllowed && Double(lost) > allowed * Double(known)
  }

  /// What is missing and why that may be, as sentences.
  func description(of known: Int, in source: BytePath) -> String {
    "\(count) of \(known) known files of the source “\(source.printable)” are missing. Perhaps they "
      + "were moved, or their disk is not there."
  }
}
