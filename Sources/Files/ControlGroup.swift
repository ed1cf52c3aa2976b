import Glibc
package import PipelineModel

/// A group of processes whose memory and number the kernel limits. Source: cgroups(7), and “Control
/// Group v2” of the kernel's documentation.
package struct ControlGroup: Sendable {
  private let parent: Descriptor
  private let folder: Descriptor

  /// Its folder.
  package var path: BytePath { folder.path }

  /// Makes an empty group; re-creates one left by an earlier program, whose events it still counts.
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
  ///   - memoryBytes: bytes of memory, including files in memory; swap is off. A process that needs
  ///     more is killed, together with the whole group.
  ///   - threads: the number of threads.
  package func limit(memoryBytes: Int, threads: Int) throws(FileError) {
    try folder.writeControl("memory.max", "\(memoryBytes)")
    try folder.writeControl("memory.oom.group", "1")
    try folder.writeControl("pids.max", "\(threads)")
    do throws(FileError) {
      try folder.writeControl("memory.swap.max", "0")
    } catch {
      // A kernel without swap has no such limit.
      if error.code != .notFound { throw error }
    }
  }

  /// Moves this process, and thereby its future children, into a group.
  package static func enter(_ path: BytePath) throws(FileError) {
    try Descriptor.openFolder(path).writeControl("cgroup.procs", "0")
  }

  /// Whether processes were killed because they reached the group's own memory limit.
  package var hasRunOutOfMemory: Bool {
    // An unreadable group is gone; nothing is known of its processes.
    guard let bytes = try? folder.readFile("memory.events") else { return false }
    let events = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    func count(_ name: String) -> Int {
      events.first { $0.hasPrefix(name + " ") }.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
    }
    return count("oom") > 0 && count("oom_kill") > 0
  }

  /// Removes the group.
  ///
  /// - Throws: `FileError` of code `busy` while a process is in it.
  package func remove() throws(FileError) { try parent.removeFolder(path.lastComponent) }
}

extension Descriptor {
  /// Writes a command to a group's control file. Source: cgroups(7).
  func writeControl(_ name: BytePath, _ text: String) throws(FileError) {
    try Descriptor.open(name, in: self, flags: O_WRONLY | O_NOFOLLOW).write(Array(text.utf8))
  }
}
