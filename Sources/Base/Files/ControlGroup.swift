import CLinux
import Glibc
package import PipelineModel

/// A group of processes whose memory and number the kernel limits. Source: cgroups(7), and “Control
/// Group v2” of the kernel's documentation.
package struct ControlGroup: Sendable {
  private let parent: Descriptor
  private let folder: Descriptor

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
    count("oom", in: "memory.events") > 0 && count("oom_kill", in: "memory.events") > 0
  }

  /// How often the kernel refused to create a thread, because the group has too many.
  package var refusedThreads: Int { count("max", in: "pids.events") }

  /// An event's number, or 0 if the group is gone: nothing is known of its processes then.
  private func count(_ name: String, in file: BytePath) -> Int {
    guard let bytes = try? folder.readFile(file) else { return 0 }
    let events = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    return events.first { $0.hasPrefix(name + " ") }
      .flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
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

/// This program's control group, if whoever started the program delegated it.
///
/// systemd does so with `Delegate=`, and marks the group. An unmarked group is left alone even if
/// writable: other programs may be in it, and someone else manages it. Source:
/// systemd.resource-control(5), and “Control Group APIs and Delegation” of systemd.
package struct DelegatedControlGroup: Sendable {
  package enum Absence: Error, Hashable, Sendable {
    /// The kernel has no cgroup v2, or it is not mounted.
    case noHierarchy
    /// The kernel has these controllers elsewhere, or not at all.
    case noControllers([String])
    /// Nobody delegated the group to this program.
    case notDelegated(BytePath)
    /// This program may not write to the group.
    case notWritable(BytePath)
    case error(FileError)
    /// The group was delegated but can't be divided, for example because other processes are in it.
    case notDivided(FileError)
  }

  private static let controllers = ["memory", "pids"]
  /// The attributes that mark a delegated group, for every user and for root alone.
  private static let marks = ["user.delegate", "trusted.delegate"]
  /// This program's own subgroup: a divided group must contain no processes itself.
  private static let ownName: BytePath = "program"

  private let folder: Descriptor

  package var path: BytePath { folder.path }

  /// Looks for the group; changes nothing.
  ///
  /// - Parameters:
  ///   - membership: the file that names this process's groups.
  ///   - mounts: the mounted file systems.
  package static func find(
    membership: BytePath = "/proc/self/cgroup", mounts: MountTable = MountTable()
  ) throws(Absence) -> DelegatedControlGroup {
    let folder: Descriptor?
    let available: [String]
    do throws(FileError) {
      folder = try group(membership, mounts)
      available = try folder.map { folder throws(FileError) in try words(of: folder) } ?? []
    } catch {
      throw .error(error)
    }
    guard let folder else { throw .noHierarchy }
    let missing = controllers.filter { !available.contains($0) }
    guard missing.isEmpty else { throw .noControllers(missing) }
    guard marks.contains(where: { isMarked(folder, $0) }) else { throw .notDelegated(folder.path) }
    guard folder.path.withCString({ access($0, W_OK) }) == 0 else {
      throw .notWritable(folder.path)
    }
    return DelegatedControlGroup(folder: folder)
  }

  /// Moves this program into a subgroup, so that groups can be made next to it.
  ///
  /// - Throws: `FileError` of code `busy` if other processes share the group; nothing changes then.
  package func divide() throws(FileError) {
    let own = try ControlGroup(Self.ownName, in: folder)
    try ControlGroup.enter(own.path)
    do throws(FileError) {
      let all = Self.controllers.map { "+\($0)" }.joined(separator: " ")
      try folder.writeControl("cgroup.subtree_control", all)
    } catch {
      try ControlGroup.enter(folder.path)
      try own.remove()
      throw error
    }
  }

  /// Makes a group next to this program's; call `divide` first.
  package func makeGroup(_ name: BytePath) throws(FileError) -> ControlGroup {
    try ControlGroup(name, in: folder)
  }

  /// This process's cgroup v2 group; `nil` if there is none.
  private static func group(
    _ membership: BytePath, _ mounts: MountTable
  ) throws(FileError) -> Descriptor? {
    let lines = try Descriptor.openFolder(membership.parent).readFile(membership.lastComponent)
      .split(separator: UInt8(ascii: "\n"))
    // cgroup v1 lines have a number and names before the path.
    guard let line = lines.first(where: { $0.starts(with: Array("0::/".utf8)) }),
      let mount = try mounts.firstMount(ofType: "cgroup2")
    else { return nil }
    let name = BytePath(bytes: Array(line.dropFirst("0::/".utf8.count)))
    return try Descriptor.openFolder(name.isEmpty ? mount : mount.appending(name))
  }

  /// The controllers available to a group.
  private static func words(of folder: Descriptor) throws(FileError) -> [String] {
    let text = String(decoding: try folder.readFile("cgroup.controllers"), as: UTF8.self)
    return text.split(whereSeparator: \.isWhitespace).map(String.init)
  }

  private static func isMarked(_ folder: Descriptor, _ mark: String) -> Bool {
    var value: UInt8 = 0
    return pipeline_get_attribute(folder.number, mark, &value, 1) == 1
      && value == UInt8(ascii: "1")
  }
}

extension DelegatedControlGroup.Absence {
  /// A sentence with the reason and, where it helps, the remedy.
  package var message: String {
    switch self {
    case .noHierarchy: "There is no cgroup v2 here."
    case .noControllers(let names):
      "cgroup v2 has no controller of \(names.joined(separator: " and ")) for this process."
    case .notDelegated(let path):
      "The control group “\(path.printable)” was not given to this program, as systemd does with "
        + "Delegate=."
    case .notWritable(let path):
      "The control group “\(path.printable)” can't be written by this program: "
        + "ProtectControlGroups= of systemd must be off for it."
    case .error(let error), .notDivided(let error): error.message
    }
  }
}
