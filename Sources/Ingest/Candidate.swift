import Catalog
import PipelineModel

/// A path that was seen in a source and may be taken.
struct Candidate: Sendable {
  /// The path relative to the source.
  var path: BytePath
  /// The file as the scan found it.
  var identity: FileIdentity
  /// What is known of the path from earlier runs.
  var known: Sighting?
  /// Whether a settle window was waited for, in which nothing may have changed,
  /// not even the time of the last status change.
  var mustBeQuiet = false
  /// Whether the user named it, or a folder above it, to `import`.
  var isNamed = false
  /// Whether the stored original is read, too, before the file is taken as known.
  var verifiesOriginal = false
  /// States that are no news while the file is watched: an ending in one of them
  /// is neither recorded nor reported.
  var silent: Set<Sighting.State> = []

  /// Whether its bytes may be those that were taken from this path before: inode, size and
  /// modification time are the same. An edit can keep all three, so the bytes are compared.
  var mayBeUnchanged: Bool {
    // One that awaits its removal and comes this way has to heal its original.
    guard let known, known.asset != nil, !known.awaitsRemoval,
      known.identity?.isSameFile(as: identity) == true
    else { return false }
    return [.imported, .duplicate].contains(known.state) || known.state == .gone
  }

  /// Whether an ending would only say what is known anyway, perhaps with other figures.
  func isNoNews(_ state: Sighting.State, reason: String?) -> Bool {
    silent.contains(state)
      && (state == .settling || Self.withoutFigures(known?.reason) == Self.withoutFigures(reason))
  }

  /// A reason without what changes by itself, such as how much space is free.
  private static func withoutFigures(_ reason: String?) -> String? {
    reason?.filter { !$0.isNumber && $0 != "." }
  }
}
