import Configuration
import Dispatch
import Files
import PipelineModel
import Synchronization

/// Receives changes to a source from the kernel without pause: the kernel's queue is drained on a
/// separate Dispatch queue, however long an import takes.
final class FolderWatcher: Sendable {
  private let inotify: Inotify
  private let tree: Mutex<FolderTree>
  private let dirty = Mutex(DirtyPaths())
  private let queue: DispatchQueue
  private let registration = Mutex<DescriptorEvents.Registration?>(nil)
  private let onChange: @Sendable () -> Void

  /// Watches the source and all folders in it.
  ///
  /// Existing files are not recorded.
  ///
  /// - Parameter onChange: called on the watch's own queue when there is something to import.
  /// - Throws: what keeps folders from being watched, of code `watcherLimit` or `watchLimit` if
  ///   this user has reached a limit.
  init(
    _ folder: Descriptor, configuration: SourceConfiguration, exclusion: LibraryExclusion,
    onChange: @escaping @Sendable () -> Void
  ) throws(FileError) {
    let inotify = try Inotify()
    var tree = try FolderTree(
      folder, configuration: configuration, exclusion: exclusion, inotify: inotify)
    var found = DirtyPaths()
    tree.watchAll(listsFiles: false, into: &found)
    if case .failed(let error) = found.end { throw error }
    self.inotify = inotify
    self.tree = Mutex(tree)
    self.onChange = onChange
    queue = DispatchQueue(label: "pipeline.watch")
    dirty.withLock { $0.merge(found) }
    let registration = DescriptorEvents.shared.read(inotify.queue, on: queue) { [weak self] in
      guard let self else { return false }
      drain()
      return true
    }
    self.registration.withLock { $0 = registration }
  }

  deinit {
    if let registration = registration.withLock({ $0 }) {
      DescriptorEvents.shared.forget(registration)
    }
  }

  /// Returns and clears what was reported since the last call.
  func consumeChanges() -> DirtyPaths {
    dirty.withLock { dirty in
      defer { dirty = DirtyPaths() }
      return dirty
    }
  }

  var count: Int { tree.withLock { $0.count } }

  /// Walks the source again and watches unwatched folders; returns at once.
  func refresh() {
    queue.async { [weak self] in
      self?.update { tree, found in tree.watchAll(listsFiles: true, into: &found) }
    }
  }

  private func drain() {
    do throws(FileError) {
      while true {
        let events = try inotify.read()
        if events.isEmpty { return }
        update { tree, found in tree.handle(events, into: &found) }
      }
    } catch {
      dirty.withLock { $0.note(.failed(error)) }
      onChange()
    }
  }

  private func update(_ body: (inout FolderTree, inout DirtyPaths) -> Void) {
    var found = DirtyPaths()
    tree.withLock { body(&$0, &found) }
    dirty.withLock { $0.merge(found) }
    onChange()
  }
}

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
