import Files
import PipelineModel

/// What the kernel reported about a source since it was last read.
struct DirtyPaths: Sendable {
  /// What happened to a path, if known.
  enum Change: Sendable {
    /// Its name was created.
    case created
    /// A writer closed it.
    case closed
    /// It was renamed to this name.
    case movedIn
    /// Its attributes changed.
    case attributes
    /// It was found in a listing; how it came there is unknown.
    case listed
  }

  /// Why the kernel's reports are no longer reliable.
  enum End: Sendable {
    /// The folder was moved or removed.
    case rootIsGone
    /// Folders could not be watched.
    case failed(FileError)
    /// A folder is on a file system without change events, by its name.
    case silent(String)
  }

  /// The most paths kept; a rescan finds the others.
  static let limit = 50_000

  private(set) var paths: [BytePath: Change] = [:]
  /// How often the kernel's queue overflowed.
  private(set) var overflows = 0
  /// Whether there were more paths than are kept.
  private(set) var isCut = false
  private(set) var end: End?

  /// Records a path with the last thing that happened to it.
  mutating func note(_ path: BytePath, _ change: Change) {
    if let known = paths[path] {
      // New attributes do not say how the file came there.
      if change != .attributes || known == .listed { paths[path] = change }
    } else if paths.count < Self.limit {
      paths[path] = change
    } else {
      isCut = true
    }
  }

  mutating func noteOverflow() { overflows += 1 }

  /// Keeps the first reason.
  mutating func note(_ reason: End) { end = end ?? reason }

  mutating func merge(_ later: DirtyPaths) {
    if paths.isEmpty { paths = later.paths } else { later.paths.forEach { note($0, $1) } }
    overflows += later.overflows
    isCut = isCut || later.isCut
    end = end ?? later.end
  }
}
