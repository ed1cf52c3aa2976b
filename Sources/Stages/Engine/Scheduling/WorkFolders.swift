import Files
import Glibc
import PipelineModel
import PluginHost
import Records

/// The folders below `work/` that receive jobs' results, one per attempt.
struct WorkFolders: Sendable {
  var path: BytePath { root.path }
  private let root: Descriptor

  /// Opens a library's `work/`, ends surviving workers of a killed process, and removes what they
  /// and their jobs left. Foreign entries stay.
  init(in library: Descriptor) throws(FileError) {
    root = try Descriptor.openFolder("work", in: library, followsLinks: false)
    try root.requireOwn("The library's folder")
    let entries = try root.entries().filter { Self.isOurs($0.name) }
    for entry in entries { WorkerPIDFile.endSurvivors(of: entry.name, in: root) }
    for entry in entries { try root.removeTree(entry) }
  }

  /// Whether a name belongs to an attempt, a worker or an interrupted removal.
  private static func isOurs(_ name: BytePath) -> Bool {
    var rest = name.bytes[...]
    for prefix in [WorkerFolder.namePrefix, Descriptor.removedPrefix]
    where rest.starts(with: prefix.utf8) {
      rest = rest.dropFirst(prefix.utf8.count)
      break
    }
    return !rest.isEmpty
      && rest.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  func make(for token: AttemptToken) throws(FileError) -> Descriptor {
    let name = BytePath("\(token.rawValue)")
    try root.makeFolder(name)
    let folder = try Descriptor.openFolder(name, in: root, followsLinks: false)
    try folder.makeFolder("out")
    return try Descriptor.openFolder("out", in: folder, followsLinks: false)
  }

  /// Makes a file for an attempt to read, beside the folder for its results.
  func makeInput(_ name: BytePath = "in", for token: AttemptToken) throws(FileError) -> Descriptor {
    let folder = try Descriptor.openFolder(
      BytePath("\(token.rawValue)"), in: root, followsLinks: false)
    return try Descriptor.open(
      name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
  }

  func remove(_ token: AttemptToken) throws(FileError) {
    let entry = FolderEntry(name: BytePath("\(token.rawValue)"), kind: .folder)
    do throws(FileError) {
      try root.removeTree(entry)
    } catch let error where error.code == .notFound {
      return
    }
  }
}
