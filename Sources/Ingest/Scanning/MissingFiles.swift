import PipelineModel

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

  /// The share of known files that may be missing.
  let allowed: Double
  private(set) var count = 0
  /// Their paths, up to `keptPaths`.
  private(set) var paths: [BytePath] = []

  /// The number of renames found before the scan.
  private let renamesBefore: Int

  /// - Parameters:
  ///   - allowed: a share from 0 to 1.
  ///   - renames: the number of renames found so far.
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
  /// - Parameters:
  ///   - known: how many files should be there.
  ///   - renames: the number of renames found by now; those files are not lost.
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
