import Catalog
import Files
import PipelineModel

/// The folders below `work/` that jobs write to, one for each attempt.
struct WorkFolders: Sendable {
  private let root: Descriptor

  /// Opens `work/` and empties it of what a killed process left.
  init(_ path: BytePath) throws(FileError) {
    root = try Descriptor.openFolder(path)
    for entry in try root.entries() { try Self.removeTree(entry, in: root) }
  }

  /// Makes the folder that a job's plugin writes to.
  func make(for token: AttemptToken) throws(FileError) -> Descriptor {
    let name = BytePath("\(token.rawValue)")
    try root.makeFolder(name)
    let folder = try Descriptor.openFolder(name, in: root, followsLinks: false)
    try folder.makeFolder("out")
    return try Descriptor.openFolder("out", in: folder, followsLinks: false)
  }

  /// Removes a job's folder with all that its plugin left in it.
  func remove(_ token: AttemptToken) throws(FileError) {
    let entry = FolderEntry(name: BytePath("\(token.rawValue)"), kind: .folder)
    do throws(FileError) {
      try Self.removeTree(entry, in: root)
    } catch let error where error.code == .notFound {
      return
    }
  }

  /// Never follows a link: what is removed was below the folder by name.
  private static func removeTree(
    _ entry: FolderEntry, in folder: Descriptor
  ) throws(FileError) {
    let kind: FileStatus.Kind
    if let known = entry.kind {
      kind = known
    } else {
      kind = try folder.status(of: entry.name).kind
    }
    guard kind == .folder else { return try folder.remove(entry.name) }
    // A plugin may have left a folder that even its owner may not read.
    try folder.setPermissions(of: entry.name, 0o700)
    let inner = try Descriptor.openFolder(entry.name, in: folder, followsLinks: false)
    for child in try inner.entries() { try removeTree(child, in: inner) }
    try folder.removeFolder(entry.name)
  }
}
