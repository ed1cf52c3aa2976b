package import PipelineModel

/// A watch event that is no path's outcome.
package enum WatchEvent: Hashable, Sendable {
  /// Why a source is polled instead of watched.
  package enum PollingReason: Hashable, Sendable {
    /// Its file system, of this name, reports no changes.
    case silent(String)
    /// This user has reached the limit of watched folders.
    case watchLimit
    /// This user has reached the limit of inotify instances.
    case watcherLimit
    /// It could not be watched, as a sentence.
    case failed(String)
  }

  /// The kernel reports changes in this many folders.
  case watched(source: BytePath, folders: Int)
  /// The source is polled instead.
  case polled(source: BytePath, reason: PollingReason)
  /// The source is missing, as a sentence; it is looked for every second.
  case away(source: BytePath, reason: String)
  /// The source is back.
  case returned(source: BytePath)
  /// The kernel lost changes for the n-th time; the source is rescanned.
  case overflowed(source: BytePath, times: Int)
  /// More paths changed at once than are kept; the source is rescanned.
  case crowded(source: BytePath)
  /// The library has no room, as a sentence; nothing is imported until it has.
  case full(reason: String)
  /// There is room again.
  case hasRoom
  /// The source was rescanned; `isSpecial` if not because of the interval.
  case rescanned(source: BytePath, seconds: Double, isSpecial: Bool)
}

/// Receives what a watch reports while it works, on the thread that runs it.
package protocol WatchReport: IngestReport {
  /// Something happened that is no path's outcome.
  func watch(_ event: WatchEvent)
}
