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
  /// States that are no news while the file is watched: an ending in one of them
  /// is neither recorded nor reported.
  var silent: Set<Sighting.State> = []

  /// Whether an ending would only say what is known anyway.
  func isNoNews(_ state: Sighting.State, reason: String?) -> Bool {
    silent.contains(state) && (state == .settling || known?.reason == reason)
  }
}
