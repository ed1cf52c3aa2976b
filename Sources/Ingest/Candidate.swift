import Catalog
import PipelineModel

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
