import Glibc
package import PipelineModel

/// A group of processes that the kernel holds to memory and number: a folder of a file system
/// of the kernel's own. Source: cgroups(7), and “Control Group v2” of the kernel's documentation.
package struct ControlGroup: Sendable {
  private let parent: Descriptor
  private let folder: Descriptor

  /// Its folder.
  package var path: BytePath { folder.path }

  /// Makes a group without processes; one that an earlier program left is made anew, as it
  /// remembers what became of that program's processes.
  init(_ name: BytePath, in parent: Descriptor) throws(FileError) {
    self.parent = parent
    if try !parent.makeFolder(name) {
      try parent.removeFolder(name)
      try parent.makeFolder(name)
    }
    folder = try Descriptor.openFolder(name, in: parent, followsLinks: false)
  }

  /// Limits what its processes use together.
  ///
  /// - Parameters:
  ///   - memoryBytes: bytes of memory, that of files in memory included; nothing is swapped
  ///     instead. Who needs more is ended, and all others of the group at once.
  ///   - threads: how many threads they may have.
  package func limit(memoryBytes: Int, threads: Int) throws(FileError) {
    try folder.writeControl("memory.max", "\(memoryBytes)")
    try folder.writeControl("memory.oom.group", "1")
    try folder.writeControl("pids.max", "\(threads)")
    do throws(FileError) {
      try folder.writeControl("memory.swap.max", "0")
    } catch {
      // A kernel that can't swap has no such limit.
      if error.code != .notFound { throw error }
    }
  }

  /// Moves this process and all that it will start into a group.
  package static func enter(_ path: BytePath) throws(FileError) {
    try Descriptor.openFolder(path).writeControl("cgroup.procs", "0")
  }

  /// Whether processes were ended because they reached the group's own limit of memory.
  package var hasRunOutOfMemory: Bool {
    // One that can't be asked is gone, and nothing is known of its processes.
    guard let bytes = try? folder.readFile("memory.events") else { return false }
    let events = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    func count(_ name: String) -> Int {
      events.first { $0.hasPrefix(name + " ") }.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
    }
    return count("oom") > 0 && count("oom_kill") > 0
  }

  /// Removes it.
  ///
  /// - Throws: `FileError` of code `busy` as long as a process is in it.
  package func remove() throws(FileError) { try parent.removeFolder(path.lastComponent) }
}

extension Descriptor {
  /// Writes into a file of a group, which is a command. Source: cgroups(7).
  func writeControl(_ name: BytePath, _ text: String) throws(FileError) {
    try Descriptor.open(name, in: self, flags: O_WRONLY | O_NOFOLLOW).write(Array(text.utf8))
  }
}
