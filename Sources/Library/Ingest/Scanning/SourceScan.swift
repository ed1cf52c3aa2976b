import Configuration
import Files
import PipelineModel

enum ScannedEntry {
  /// A regular file that the rules accept.
  case file(BytePath, FileIdentity)
  /// A path that is not imported: excluded by a rule, a link, a special file; folders end in a
  /// slash.
  case ignored(BytePath, rule: String)
  /// A path that can't be examined; a folder ends in a slash.
  case unreadable(BytePath, FileError)

  var path: BytePath {
    switch self {
    case .file(let path, _), .ignored(let path, _), .unreadable(let path, _): path
    }
  }
}

/// Walks a source in byte order of paths, so that it can be compared with the catalog's sightings
/// step by step, in memory that grows only with the largest folder.
///
/// Folders sort as if their name ended in a slash, so the walk follows the order of whole paths.
struct SourceScan {
  private struct Level {
    var folder: Descriptor
    /// The path relative to the source; empty for the source itself.
    var path: BytePath
    /// The entries left to visit, the next one last.
    var rest: [(key: [UInt8], entry: FolderEntry, kind: FileStatus.Kind)]
  }

  private let rules: SourceRules
  private let isRecursive: Bool
  /// Libraries are never walked into.
  private let exclusion: LibraryExclusion
  private let limit: PathLimit?
  private var levels: [Level] = []
  /// Entries found while a folder was opened, returned first.
  private var pending: [ScannedEntry] = []

  /// Starts at a folder of the source.
  ///
  /// - Parameters:
  ///   - exclusion: what to skip.
  ///   - limit: leaves out paths that are too long; by default all are found.
  init(
    _ folder: Descriptor, rules: SourceRules, isRecursive: Bool, exclusion: LibraryExclusion,
    limit: PathLimit? = nil
  ) throws(FileError) {
    self.exclusion = exclusion
    self.limit = limit
    self.rules = rules
    self.isRecursive = isRecursive
    levels = [try Self.level(folder, path: BytePath(bytes: []))]
  }

  /// Returns the next entry, or `nil` at the end.
  mutating func next() -> ScannedEntry? {
    while var level = levels.popLast() {
      guard let (_, entry, kind) = level.rest.popLast() else { continue }
      levels.append(level)
      let path = level.path.appending(entry.name)
      if let found = visit(entry.name, kind: kind, path: path, in: level.folder) { return found }
    }
    return nil
  }

  private mutating func visit(
    _ name: BytePath, kind: FileStatus.Kind, path: BytePath, in folder: Descriptor
  ) -> ScannedEntry? {
    let isFolder = kind == .folder
    let shown = isFolder ? BytePath(bytes: path.bytes + [UInt8(ascii: "/")]) : path
    if let limit, !limit.admits(shown) { return nil }
    if case .ignored(let rule) = rules.verdict(
      for: path, isFolder: isFolder, foldersAreAccepted: true)
    {
      return .ignored(shown, rule: rule)
    }
    do throws(FileError) {
      switch kind {
      case .regular:
        return .file(path, try folder.status(of: name).identity)
      case .folder:
        guard isRecursive else {
          return .ignored(shown, rule: "a folder, and the source is not recursive")
        }
        let inner = try Descriptor.openFolder(name, in: folder, followsLinks: false)
        guard try !exclusion.contains(inner) else { return .ignored(shown, rule: "a library") }
        levels.append(try Self.level(inner, path: path))
        return nil
      case .link, .fifo, .socket, .device:
        return .ignored(path, rule: kind.name)
      }
    } catch let error where error.code == .notFound {
      // Gone since the folder was read: as if never seen.
      return nil
    } catch {
      return .unreadable(shown, error)
    }
  }

  private static func level(_ folder: Descriptor, path: BytePath) throws(FileError) -> Level {
    var rest: [(key: [UInt8], entry: FolderEntry, kind: FileStatus.Kind)] = []
    for entry in try folder.entries() {
      let kind: FileStatus.Kind
      if let known = entry.kind {
        kind = known
      } else {
        guard let status = try folder.statusIfThere(of: entry.name) else { continue }
        kind = status.kind
      }
      let name = entry.name.bytes
      let key = kind == .folder ? name + [UInt8(ascii: "/")] : name
      rest.append((key, entry, kind))
    }
    rest.sort { $1.key.lexicographicallyPrecedes($0.key) }
    return Level(folder: folder, path: path, rest: rest)
  }
}
