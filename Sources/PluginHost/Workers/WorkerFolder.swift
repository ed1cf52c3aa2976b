import Files
import Glibc
import PipelineModel
import PipelinePlugin

/// A worker's folder: `in/`, which it may read, and `out/`, which it may write.
package struct WorkerFolder: Sendable {
  /// What the names of workers' folders begin with, before a number.
  package static let namePrefix = "worker-"

  /// The absolute path of `in/`.
  var inputPath: BytePath { input.path }
  /// The absolute path of `out/`.
  var outputPath: BytePath { output.path }

  private let work: Descriptor
  private let name: BytePath
  private let folder: Descriptor
  private let input: Descriptor
  private let output: Descriptor

  /// Makes a new folder below `work/`.
  init(_ name: BytePath, in work: BytePath) throws(FileError) {
    self.name = name
    self.work = try Descriptor.openFolder(work, followsLinks: false)
    try self.work.makeFolder(name)
    folder = try Descriptor.openFolder(name, in: self.work, followsLinks: false)
    try folder.makeFolder("in")
    try folder.makeFolder("out")
    input = try Descriptor.openFolder("in", in: folder, followsLinks: false)
    output = try Descriptor.openFolder("out", in: folder, followsLinks: false)
  }

  /// Writes down which process works here.
  func record(_ process: Int32) throws(FileError) {
    guard let record = WorkerRecord(process), let text = try? JSONText.encode(record) else {
      return
    }
    let file = try Descriptor.open(
      WorkerRecord.name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(Array(text.utf8))
  }

  /// Lets the worker read an original.
  ///
  /// - Parameter mayLink: whether it can be a second name of the same file, which
  ///   is safe only where the worker can't write to what it may read.
  /// - Returns: the path to tell the worker.
  func place(
    _ original: BytePath, as name: BytePath, mayLink: Bool
  ) throws(FileError) -> BytePath {
    if mayLink {
      do throws(FileError) {
        try input.link(original, as: name)
        return told(input.path.appending(name))
      } catch {
        // Some file systems have no links, and a file can't have any number of them.
        guard [EPERM, EMLINK, EXDEV, EOPNOTSUPP, ENOSYS].contains(error.errno) else { throw error }
      }
    }
    let source = try Descriptor.open(original, flags: O_RDONLY | O_NOFOLLOW)
    let copy = try Descriptor.open(
      name, in: input, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
    if try !copy.clone(from: source) {
      try source.forEachChunk { chunk throws(FileError) in try copy.write(chunk) }
    }
    return told(input.path.appending(name))
  }

  /// How a message names a file of this folder to the worker: a message is text, so where the
  /// path is not, it begins at the worker's working folder, which is `out/`. Source: proc(5).
  func told(_ path: BytePath) -> BytePath {
    guard path.utf8 == nil, let name = path.relative(to: folder.path) else { return path }
    return BytePath("/proc/self/cwd/..").appending(name)
  }

  /// Moves the files that a result names to another folder.
  ///
  /// - Returns: the result with the files' paths in that folder.
  func move(_ result: PluginResult, to place: BytePath) throws(FileError) -> PluginResult {
    guard case .done(let facts, let renditions) = result, !renditions.isEmpty else { return result }
    let folder = try Descriptor.openFolder(place, followsLinks: false)
    var moved: [PluginRendition] = []
    for (index, rendition) in renditions.enumerated() {
      let path = BytePath(rendition.path)
      guard !path.isAbsolute else {
        throw FileError(.link, "“\(path.printable)” is not below the output folder.", path: path)
      }
      var rendition = rendition
      rendition.path = "\(index)"
      try output.openParent(of: path)
        .rename(path.lastComponent, to: folder, as: BytePath(rendition.path))
      moved.append(rendition)
    }
    return .done(facts: facts, renditions: moved)
  }

  /// The file system that the worker's files are on.
  func device() throws(FileError) -> UInt64 { try output.status().device }

  /// How many files and bytes the worker has made so far.
  ///
  /// - Parameter mostFiles: at which it is given up to count.
  func usage(mostFiles: Int) throws(FileError) -> (files: Int, bytes: Int) {
    var files = 0
    var bytes = 0
    var folders = [output]
    while let folder = folders.popLast() {
      for entry in try folder.entries() {
        files += 1
        // Each waiting folder is an open file of this program.
        if files > mostFiles || folders.count > 256 { return (mostFiles + 1, bytes) }
        // What is gone by now is not counted.
        guard let status = try? folder.status(of: entry.name) else { continue }
        // One with holes is read as a whole all the same.
        bytes += max(status.allocatedBytes, status.kind == .regular ? status.identity.size : 0)
        if status.kind == .folder, let inner = try open(entry.name, in: folder) {
          folders.append(inner)
        }
      }
    }
    return (files, bytes)
  }

  /// Opens a folder that the worker made, whatever permissions it gave it.
  ///
  /// - Returns: `nil` if it is gone.
  private func open(_ name: BytePath, in folder: Descriptor) throws(FileError) -> Descriptor? {
    do throws(FileError) {
      return try Descriptor.openFolder(name, in: folder, followsLinks: false)
    } catch {
      if error.code == .notFound { return nil }
      // It would hide what is in it, and the worker can't change it back.
      try folder.setPermissions(of: name, 0o700)
      return try Descriptor.openFolder(name, in: folder, followsLinks: false)
    }
  }

  /// Removes what a job and its plugin left.
  func empty() throws(FileError) {
    for entry in try input.entries() { try input.removeTree(entry) }
    for entry in try output.entries() { try output.removeTree(entry) }
  }

  /// Removes the folder.
  func remove() throws(FileError) {
    try work.removeTree(FolderEntry(name: name, kind: .folder))
  }
}
