import Files
import PipelineModel

/// What the kernel has told of a source since it was last looked at.
struct DirtyPaths: Sendable {
  /// What is known of a path besides that something happened to it.
  enum Change: Sendable {
    /// Its name was made.
    case created
    /// A writer closed it.
    case closed
    /// It was renamed to this name.
    case movedIn
    /// Its attributes changed.
    case attributes
    /// It was found in a list of names, and nobody saw how it came there.
    case listed
  }

  /// Why the kernel's word can't be relied upon any more.
  enum End: Sendable {
    /// The folder has another place, or none.
    case rootIsGone
    /// Folders could not be watched.
    case failed(FileError)
    /// A folder is on a file system that tells nothing, by its name.
    case silent(String)
  }

  /// More paths than this are not kept; a rescan finds the others.
  static let limit = 50_000

  private(set) var paths: [BytePath: Change] = [:]
  /// How often the kernel's queue was full.
  private(set) var overflows = 0
  /// Whether there were more paths than are kept.
  private(set) var isCut = false
  private(set) var end: End?

  /// Keeps a path with the last thing that happened to it.
  mutating func note(_ path: BytePath, _ change: Change) {
    if let known = paths[path] {
      // New attributes say nothing about how the file came there.
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

  /// Adds what came later.
  mutating func merge(_ later: DirtyPaths) {
    if paths.isEmpty { paths = later.paths } else { later.paths.forEach { note($0, $1) } }
    overflows += later.overflows
    isCut = isCut || later.isCut
    end = end ?? later.end
  }
}
