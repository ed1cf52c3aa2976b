import Configuration
import Files
import PipelineModel

/// The watched folders of a source, by the kernel's watches.
///
/// Each folder is watched first and listed afterwards, so no name created in between is missed.
struct FolderTree {
  private let root: BytePath
  /// The root when it was first watched.
  private let node: FileStatus
  private let rules: SourceRules
  private let isRecursive: Bool
  private let exclusion: LibraryExclusion
  private let inotify: Inotify
  private var paths: [Inotify.Watch: BytePath] = [:]
  private var watches: [BytePath: Inotify.Watch] = [:]
  private static let top = BytePath(bytes: [])

  init(
    _ source: Descriptor, configuration: SourceConfiguration, exclusion: LibraryExclusion,
    inotify: Inotify
  ) throws(FileError) {
    root = configuration.path
    node = try source.status()
    rules = SourceRules(configuration)
    isRecursive = configuration.recursive
    self.exclusion = exclusion
    self.inotify = inotify
  }

  var count: Int { paths.count }

  // MARK: Folders

  /// Watches the source and all folders in it.
  ///
  /// - Parameter listsFiles: whether to record files in newly watched folders; otherwise a rescan
  ///   must find them.
  mutating func watchAll(listsFiles: Bool, into dirty: inout DirtyPaths) {
    guard let folder = openRoot(noting: &dirty) else { return }
    watch(folder, at: Self.top, listsFiles: listsFiles, into: &dirty)
  }

  private mutating func watch(
    _ folder: Descriptor, at path: BytePath, listsFiles: Bool, into dirty: inout DirtyPaths
  ) {
    var rest: [(parent: Descriptor, path: BytePath)] = []
    do throws(FileError) {
      try enter(folder, at: path, listsFiles: listsFiles, rest: &rest, into: &dirty)
      while let (parent, path) = rest.popLast() {
        guard let inner = open(path.lastComponent, in: parent) else { continue }
        try enter(inner, at: path, listsFiles: listsFiles, rest: &rest, into: &dirty)
      }
    } catch {
      dirty.note(.failed(error))
    }
  }

  /// Opens a folder; `nil` if it is gone or unreadable, which a rescan reports.
  private func open(_ name: BytePath, in folder: Descriptor) -> Descriptor? {
    try? Descriptor.openFolder(name, in: folder, followsLinks: false)
  }

  private mutating func enter(
    _ folder: Descriptor, at path: BytePath, listsFiles: Bool,
    rest: inout [(parent: Descriptor, path: BytePath)], into dirty: inout DirtyPaths
  ) throws(FileError) {
    let status = try folder.status()
    if try exclusion.contains(folder) { return }
    if status.device != node.device || path.isEmpty,
      let name = try folder.fileSystem().networkName
    {
      return dirty.note(.silent(name))
    }
    let isNew = keep(try inotify.watch(folder), path)
    for entry in names(in: folder) {
      // A name gone by now is recorded like a file; whoever examines it finds it gone.
      let kind = entry.kind ?? (try? folder.status(of: entry.name).kind)
      let inner = path.appending(entry.name)
      if kind == .folder {
        if isRecursive, accepts(inner, isFolder: true) { rest.append((folder, inner)) }
      } else if isNew, listsFiles, accepts(inner, isFolder: false) {
        dirty.note(inner, .listed)
      }
    }
  }

  /// The names in a folder; none if it can't be read, which a rescan reports.
  private func names(in folder: Descriptor) -> [FolderEntry] { (try? folder.entries()) ?? [] }

  /// - Returns: whether the folder was not watched under this path before.
  private mutating func keep(_ watch: Inotify.Watch, _ path: BytePath) -> Bool {
    let before = paths[watch]
    if before == path { return false }
    if let before, watches[before] == watch { watches[before] = nil }
    if let other = watches[path], other != watch { paths[other] = nil }
    paths[watch] = path
    watches[path] = watch
    return true
  }

  /// Stops watching a folder and everything in it.
  private mutating func forget(_ path: BytePath) {
    let beneath = path.bytes + [UInt8(ascii: "/")]
    for (watch, other) in paths where other == path || other.bytes.starts(with: beneath) {
      inotify.end(watch)
      paths[watch] = nil
      if watches[other] == watch { watches[other] = nil }
    }
  }

  private func accepts(_ path: BytePath, isFolder: Bool) -> Bool {
    rules.verdict(for: path, isFolder: isFolder, foldersAreAccepted: true) == .accepted
  }

  private func openRoot(noting dirty: inout DirtyPaths) -> Descriptor? {
    do throws(FileError) {
      let folder = try Descriptor.openFolder(root)
      if try folder.status().isSameNode(as: node) { return folder }
    } catch {
      // Whatever the reason, it is not where it was.
    }
    dirty.note(.rootIsGone)
    return nil
  }

  // MARK: Events

  /// Converts events into paths, and watches new folders.
  mutating func handle(_ events: [Inotify.Event], into dirty: inout DirtyPaths) {
    for event in events {
      if event.changes.contains(.overflowed) {
        dirty.noteOverflow()
        // The lost events may include new folders.
        watchAll(listsFiles: true, into: &dirty)
      } else if let folder = paths[event.watch] {
        handle(event, in: folder, into: &dirty)
      }
    }
  }

  private mutating func handle(
    _ event: Inotify.Event, in folder: BytePath, into dirty: inout DirtyPaths
  ) {
    let changes = event.changes
    if changes.contains(.ended) {
      paths[event.watch] = nil
      if watches[folder] == event.watch { watches[folder] = nil }
      if folder.isEmpty { dirty.note(.rootIsGone) }
    } else if !changes.isDisjoint(with: [.unmounted, .deletedItself]) {
      if folder.isEmpty { dirty.note(.rootIsGone) }
    } else if changes.contains(.movedItself) {
      recheck(event.watch, folder, into: &dirty)
    } else if !event.name.isEmpty {
      let path = folder.appending(event.name)
      if changes.contains(.isFolder) {
        if isRecursive, accepts(path, isFolder: true) { appear(path, changes, into: &dirty) }
      } else if let change = Self.change(changes), accepts(path, isFolder: false) {
        dirty.note(path, change)
      }
    }
  }

  /// Watches a folder that was created or renamed, or may have become readable.
  private mutating func appear(
    _ path: BytePath, _ changes: Inotify.Changes, into dirty: inout DirtyPaths
  ) {
    if changes.contains(.attributes), watches[path] != nil { return }
    guard let folder = openFolder(path, noting: &dirty) else { return }
    watch(folder, at: path, listsFiles: true, into: &dirty)
  }

  /// Handles the rename of a watched folder, which may have left the source.
  private mutating func recheck(
    _ watch: Inotify.Watch, _ path: BytePath, into dirty: inout DirtyPaths
  ) {
    guard let folder = openFolder(path, noting: &dirty) else { return forget(path) }
    // A folder already watched keeps its number.
    if let now = try? inotify.watch(folder), now == watch { return }
    forget(path)
    self.watch(folder, at: path, listsFiles: true, into: &dirty)
  }

  /// Opens a folder of the source; `nil` if it is gone or unreadable, which a rescan reports.
  private func openFolder(_ path: BytePath, noting dirty: inout DirtyPaths) -> Descriptor? {
    guard let root = openRoot(noting: &dirty) else { return nil }
    if path.isEmpty { return root }
    guard let parent = try? root.openParent(of: path) else { return nil }
    return open(path.lastComponent, in: parent)
  }

  private static func change(_ changes: Inotify.Changes) -> DirtyPaths.Change? {
    if changes.contains(.movedIn) { return .movedIn }
    if changes.contains(.closed) { return .closed }
    if changes.contains(.created) { return .created }
    return changes.contains(.attributes) ? .attributes : nil
  }
}
