package import PipelineModel
package import Records

/// Receives what ingest reports while it works, on the thread that runs it.
package protocol IngestReport: AnyObject {
  /// Something is about to be imported or recorded under the library's `run`, which may be started
  /// now. Does nothing by default.
  func willRecord() throws
  /// A path has its outcome.
  func file(_ event: FileEvent)
  /// Records were committed: stages may have work.
  func committed()
  /// A problem that `verify` had found was dealt with. Does nothing by default.
  func repaired(_ event: RepairEvent)
  /// The user should know something that is no path's outcome.
  func warning(_ message: String)
  /// Something that a person may want to know, and that is no fault.
  func notice(_ message: String)
  /// Long work continues without an outcome; called every few thousand facts. By default nothing.
  func stillWorking()
  /// Whether the user confirms that so many files are missing; `false` by default.
  func acceptsMissing(_ description: String) -> Bool
}

extension IngestReport {
  package func acceptsMissing(_ description: String) -> Bool { false }
  package func willRecord() throws {}
  package func repaired(_ event: RepairEvent) {}
  package func stillWorking() {}
}

/// What happened to one path in a run.
package struct FileEvent: Hashable, Codable, Sendable {
  /// The absolute path; an ignored folder without its slash.
  package var path: BytePath
  package var outcome: Sighting.State
  /// The asset that its bytes belong to.
  package var asset: AssetID?
  package var reason: String?
  /// The bytes stored for it; 0 if none.
  package var storedBytes = 0
}

extension FileEvent {
  /// The event of a state that needed no import.
  init(_ sighting: Sighting) {
    var path = sighting.path.bytes
    if path.last == UInt8(ascii: "/") { path.removeLast() }
    self.init(
      path: sighting.source.appending(BytePath(bytes: path)), outcome: sighting.state,
      asset: sighting.asset, reason: sighting.reason)
  }
}

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
  /// The store of originals can't be used, as a sentence; nothing is imported until it can.
  case storeAway(reason: String)
  /// The store can be used again.
  case storeBack
  /// The source was rescanned; `isSpecial` if not because of the interval.
  case rescanned(source: BytePath, seconds: Double, isSpecial: Bool)
}

/// Receives what a watch reports while it works, on the thread that runs it.
package protocol WatchReport: IngestReport {
  func watch(_ event: WatchEvent)
}

extension IngestReport {
  package func notice(_ message: String) {}
}
