import Catalog
import Files
import PipelineModel

/// The folders below `work/` that jobs' results come to, one for each attempt.
struct WorkFolders: Sendable {
  /// The path of `work/`.
  let path: BytePath
  private let root: Descriptor

  /// Opens `work/`, ends what workers of a killed process are left, and empties it.
  init(_ path: BytePath) throws(FileError) {
    self.path = path
    root = try Descriptor.openFolder(path)
    let entries = try root.entries()
    for entry in entries { WorkerRecord.endSurvivors(of: entry.name, in: root) }
    for entry in entries { try root.removeTree(entry) }
  }

  /// Makes the folder that a job's results come to.
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
      try root.removeTree(entry)
    } catch let error where error.code == .notFound {
      return
    }
  }
}
