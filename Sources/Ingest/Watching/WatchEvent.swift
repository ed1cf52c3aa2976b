package import PipelineModel

/// Something that a watch tells and that is no path's outcome.
package enum WatchEvent: Hashable, Sendable {
  /// Why a source is not watched but looked through again and again.
  package enum PollingReason: Hashable, Sendable {
    /// Its file system tells nothing of changes, by its name.
    case silent(String)
    /// The kernel lets this user watch no more folders.
    case watchLimit
    /// The kernel lets this user have no more queues.
    case watcherLimit
    /// It could not be watched, as a sentence.
    case failed(String)
  }

  /// The kernel tells of changes in so many folders.
  case watched(source: BytePath, folders: Int)
  /// The source is looked through instead.
  case polled(source: BytePath, reason: PollingReason)
  /// The source is not there, as a sentence; it is looked for every second.
  case away(source: BytePath, reason: String)
  /// The source is there again.
  case returned(source: BytePath)
  /// The kernel lost changes for the n-th time; the source is looked through.
  case overflowed(source: BytePath, times: Int)
  /// More paths changed at once than are kept; the source is looked through.
  case crowded(source: BytePath)
  /// There is no room in the library, as a sentence; nothing is taken until there is.
  case full(reason: String)
  /// There is room again.
  case hasRoom
  /// The source was looked through; whether that was for a reason other than that it was time.
  case rescanned(source: BytePath, seconds: Double, isSpecial: Bool)
}

/// What a watch tells while it works; called on the thread that runs it.
package protocol WatchReport: IngestReport {
  /// Something happened that is no path's outcome.
  func watch(_ event: WatchEvent)
}
