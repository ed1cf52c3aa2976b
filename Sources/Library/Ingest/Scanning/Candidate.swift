import Catalog
import Files
import PipelineModel
import Records

/// A path seen in a source that may be imported.
struct Candidate: Sendable {
  var path: BytePath
  /// The file as the scan found it.
  var identity: FileIdentity
  /// What earlier runs recorded of the path.
  var known: Sighting?
  /// Whether a settle window was waited for, in which not even the ctime may have changed.
  var mustBeQuiet = false
  /// Whether the user named it, or a parent folder, to `import`.
  var isNamed = false
  /// Whether to read the stored original, too, before the file counts as known.
  var verifiesOriginal = false
  /// States that are no news while the file is watched: an outcome in one of them is neither
  /// recorded nor reported.
  var silent: Set<Sighting.State> = []

  /// Whether its bytes may be those imported from this path before: inode, size and modification
  /// time match. An edit can keep all three, so the bytes are compared.
  var mayBeUnchanged: Bool {
    // One that awaits its removal and gets here must heal its original.
    guard let known, known.asset != nil, !known.awaitsRemoval,
      known.identity?.isSameFile(as: identity) == true
    else { return false }
    return [.imported, .duplicate].contains(known.state) || known.state == .gone
  }

  /// Whether an outcome would only repeat what is known, perhaps with other figures.
  func isNoNews(_ state: Sighting.State, reason: String?) -> Bool {
    silent.contains(state)
      && (state == .settling || Self.withoutFigures(known?.reason) == Self.withoutFigures(reason))
  }

  /// A reason without figures that change by themselves, such as free space.
  private static func withoutFigures(_ reason: String?) -> String? {
    reason?.filter { !$0.isNumber && $0 != "." }
  }
}

/// Candidates waiting to be imported together.
struct CandidateGroup {
  private var candidates: [Candidate] = []
  private var bytes = 0
  private(set) var size = GroupSize()

  mutating func add(_ candidate: Candidate) {
    candidates.append(candidate)
    bytes += candidate.identity.size
  }

  /// Forgets those that were collected before something failed.
  mutating func clear() {
    candidates = []
    bytes = 0
  }

  var isFull: Bool { candidates.count >= size.files || bytes >= size.bytes }

  /// Imports them, and adapts the group size to the time that took.
  ///
  /// - Returns: how each ended.
  @discardableResult
  mutating func importFiles(by importer: Importer) throws -> [ImportGroup.Outcome] {
    let clock = ContinuousClock()
    let start = clock.now
    let wasFull = candidates.count >= size.files
    let taken = candidates
    clear()
    let outcomes = try importer.importFiles(taken)
    size.learn(wasFull: wasFull, duration: clock.now - start)
    return outcomes
  }
}

/// The number of files in a group: few at first, so that stages get work soon, then more, so that
/// one flush serves many, as long as a group takes about a second: between groups, stages, requests
/// and signals get their turn.
struct GroupSize {
  private(set) var files = min(8, Self.most)
  /// The most bytes of a group, unless one file exceeds them.
  let bytes = 256 << 20
  /// Each file of a group needs three open descriptors; half of the limit is left for the rest.
  private static let most = max(1, min(512, DescriptorLimit.current / 6))
  /// A slow disk makes small groups slow, too: still smaller ones would only flush more often.
  private static let fewestAfterSlow = min(64, most)
  private static let aim = Duration.seconds(1)

  /// Adapts the size to a group's duration.
  ///
  /// - Parameter wasFull: whether the group could have been larger.
  mutating func learn(wasFull: Bool, duration: Duration) {
    if duration > Self.aim * 2 {
      files = min(files, max(Self.fewestAfterSlow, files / 2))
    } else if wasFull, duration < Self.aim / 2 {
      // Twice as many files take at most twice as long.
      files = min(files * 2, Self.most)
    }
  }
}
