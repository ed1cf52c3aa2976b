package import Files
import Glibc
package import PipelineModel
import PipelinePlugin

/// A worker's folder: `in/`, which it may read, and `out/`, which it may write.
package struct WorkerFolder: Sendable {
  /// The prefix of the names of workers' folders; a number follows.
  package static let namePrefix = "worker-"

  var inputPath: BytePath { input.path }
  var outputPath: BytePath { output.path }

  private let work: Descriptor
  private let name: BytePath
  private let folder: Descriptor
  private let input: Descriptor
  private let output: Descriptor

  /// Creates a new folder below `work/`.
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

  func record(_ process: Int32) throws(FileError) {
    guard let record = WorkerPIDFile(process), let text = try? JSONText.encode(record) else {
      return
    }
    let file = try Descriptor.open(
      WorkerPIDFile.name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(Array(text.utf8))
  }

  /// Makes a file readable for the worker: an original, or a rendition.
  ///
  /// - Parameters:
  ///   - mayLink: whether a hard link will do, which is safe only if the worker can't write to what
  ///     it may read.
  ///   - isStopped: called for each mebibyte that is copied.
  /// - Returns: the path to send to the worker.
  /// - Throws: `FileError`, of code `stopped` if `isStopped` returns `true`.
  func place(
    _ original: BytePath, as name: BytePath, mayLink: Bool, isStopped: () -> Bool = { false }
  ) throws(FileError) -> BytePath {
    if mayLink {
      do throws(FileError) {
        try input.link(original, as: name)
        return told(input.path.appending(name))
      } catch {
        // Some file systems have no hard links, and all limit them per file.
        guard [EPERM, EMLINK, EXDEV, EOPNOTSUPP, ENOSYS].contains(error.errno) else { throw error }
      }
    }
    let source = try Descriptor.open(original, flags: O_RDONLY | O_NOFOLLOW)
    let copy = try Descriptor.open(
      name, in: input, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
    if try !copy.clone(from: source) {
      try source.forEachChunk { chunk throws(FileError) in
        if isStopped() { throw .stopped(original) }
        try copy.write(chunk)
      }
    }
    return told(input.path.appending(name))
  }

  /// The path by which a message names a file of this folder. Messages are text, so a path that is
  /// not UTF-8 is given relative to the worker's working folder, `out/`. Source: proc(5).
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

  /// The file system of the worker's files.
  func device() throws(FileError) -> UInt64 { try output.status().device }

  /// Counts the files and bytes that the worker has made so far.
  ///
  /// - Parameter mostFiles: the number at which counting stops.
  func usage(mostFiles: Int) throws(FileError) -> (files: Int, bytes: Int) {
    var (files, bytes) = (0, 0)
    /// Folders with the names of those in them that are not counted yet.
    var pending: [(folder: Descriptor, inner: [BytePath])] = []
    var next: Descriptor? = output
    while let folder = next {
      var inner: [BytePath] = []
      for entry in try folder.entries() {
        files += 1
        if files > mostFiles { return (files, bytes) }
        // Skip files that are gone by now.
        guard let status = try? folder.status(of: entry.name) else { continue }
        // Sparse files count in full, because they are read in full.
        bytes += max(status.allocatedBytes, status.kind == .regular ? status.identity.size : 0)
        if status.kind == .folder { inner.append(entry.name) }
      }
      if !inner.isEmpty { pending.append((folder, inner)) }
      // Each is an open file of this program: folders that are both that deep and wide are a bomb.
      if pending.count > 256 { return (mostFiles + 1, bytes) }
      next = try openNext(of: &pending)
    }
    return (files, bytes)
  }

  /// Opens the next folder to count; closes those with nothing left to count.
  private func openNext(
    of pending: inout [(folder: Descriptor, inner: [BytePath])]
  ) throws(FileError) -> Descriptor? {
    while let last = pending.indices.last {
      let folder = pending[last].folder
      let name = pending[last].inner.removeLast()
      if pending[last].inner.isEmpty { pending.removeLast() }
      if let opened = try open(name, in: folder) { return opened }
    }
    return nil
  }

  /// Opens a folder that the worker made, whatever its permissions.
  ///
  /// - Returns: `nil` if it is gone.
  private func open(_ name: BytePath, in folder: Descriptor) throws(FileError) -> Descriptor? {
    do throws(FileError) {
      return try Descriptor.openFolder(name, in: folder, followsLinks: false)
    } catch {
      if error.code == .notFound { return nil }
      // Without permissions it would hide its contents; the worker can't revoke them again.
      try folder.setPermissions(of: name, 0o700)
      return try Descriptor.openFolder(name, in: folder, followsLinks: false)
    }
  }

  /// Removes what a job and its plugin left.
  func empty() throws(FileError) {
    for entry in try input.entries() { try input.removeTree(entry) }
    for entry in try output.entries() { try output.removeTree(entry) }
  }

  func remove() throws(FileError) {
    try work.removeTree(FolderEntry(name: name, kind: .folder))
  }
}

/// Identifies the process that works in a worker's folder, so that the next program can end it if
/// it outlives this one.
package struct WorkerPIDFile: Codable {
  var process: Int32
  /// Start time in ticks since boot.
  var start: Int
  /// The boot's id, to which `start` refers.
  var boot: String

  static let name: BytePath = "process"

  init?(_ process: Int32) {
    guard let stat = ProcessStat(process) else { return nil }
    self.process = process
    start = stat.start
    boot = Self.boot
  }

  /// Kills the process group that worked in a folder, if any of it is left.
  package static func endSurvivors(of folder: BytePath, in work: Descriptor) {
    // A folder without a record belonged to no worker.
    guard let opened = try? Descriptor.openFolder(folder, in: work, followsLinks: false),
      let bytes = try? opened.readFile(name, limit: 4096),
      let record = try? JSONText.decode(WorkerPIDFile.self, from: bytes), record.boot == boot
    else { return }
    // The group leader may be gone. A group's number is not reused until all its processes are
    // gone, and any later group with this number started later.
    let survivors = ProcessStat.all().filter { $0.group == record.process }
    guard !survivors.isEmpty, survivors.allSatisfy({ $0.start >= record.start }) else { return }
    if let head = survivors.first(where: { $0.id == record.process }), head.start != record.start {
      return
    }
    kill(-record.process, SIGKILL)
  }

  /// Empty if the kernel provides none: then start times must suffice.
  private static let boot: String = {
    let path: BytePath = "/proc/sys/kernel/random/boot_id"
    let file = try? Descriptor.open(path, flags: O_RDONLY)
    let bytes = try? file?.readToEnd(limit: 4096)
    return String(decoding: bytes ?? [], as: UTF8.self)
  }()
}
