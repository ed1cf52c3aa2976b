internal import CSandbox
import Files
import Glibc
import PipelineModel

/// A root folder of this process's own, which shows what a policy allows and nothing else.
///
/// What is elsewhere can't even be examined. Landlock decides all the same what may be done:
/// this hides names, sizes and attributes, which Landlock shows. Where a kernel or a container
/// gives nobody a namespace, Landlock is alone.
/// Source: mount_namespaces(7), user_namespaces(7), pivot_root(2).
struct PrivateRoot {
  /// Where the new root is put together; what was there is copied before.
  private static let site: BytePath = "/proc"
  /// What is shown though Landlock opens none of it: processes, and links between system folders.
  private static let shown: [BytePath] = ["/proc", "/etc/alternatives"]
  /// Links that programs expect.
  private static let links: [BytePath] = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"]

  /// A copy of a file or folder as it is mounted, attached nowhere yet.
  private struct Tree {
    let path: BytePath
    let copy: Descriptor
    let isFolder: Bool
    let isWritable: Bool
  }

  private var trees: [Tree] = []
  private var trails: [PathTrail] = []

  /// Moves this process to such a root, where that can be had; it stays where it is otherwise.
  ///
  /// The working folder is what it was, or `/` where it is not shown. No thread may exist.
  ///
  /// - Parameters:
  ///   - places: what is shown.
  ///   - names: further paths by which these are called, which may have links.
  static func enter(showing places: AllowedPlaces, names: [BytePath]) {
    do {
      let folder = try FileSystem.workingFolder()
      try leaveMounts()
      var root = PrivateRoot()
      for path in shown { root.add(path) }
      for place in places.all { try root.add(place) }
      for path in names + links { root.trails.append(PathTrail(path)) }
      try root.enter()
      if folder.withCString({ chdir($0) }) < 0 { chdir("/") }
    } catch {
      // It stays where it is, with what Landlock allows; `SandboxSupport` tells of it.
      return
    }
  }

  /// Returns why no process can be moved to a root of its own here; `nil` if it can.
  static func refusal() -> Int32? {
    guard let flags = namespaces else { return EPERM }
    let code = pipeline_try_root(flags)
    return code == 0 ? nil : code
  }

  /// The namespaces that are needed: root mounts as root, and others have to be root somewhere
  /// first. Who may read all files and may not mount would lose the first there, and stays.
  private static var namespaces: Int32? {
    if pipeline_has_capability(Int32(pipeline_capability_administer)) != 0 {
      return Int32(pipeline_new_mounts)
    }
    guard pipeline_has_capability(Int32(pipeline_capability_read_search)) == 0 else { return nil }
    return Int32(pipeline_new_mounts) | Int32(pipeline_new_user)
  }

  private static func leaveMounts() throws(SandboxError) {
    guard let flags = namespaces else { throw SandboxError("leave the mounts", errno: EPERM) }
    let user = geteuid()
    let group = getegid()
    try systemCall("leave the mounts of others") { pipeline_unshare(flags) }
    if flags & Int32(pipeline_new_user) != 0 {
      // Each is who it was. Groups can't be mapped while they could be given up.
      try write("deny", to: "/proc/self/setgroups")
      try write("\(user) \(user) 1", to: "/proc/self/uid_map")
      try write("\(group) \(group) 1", to: "/proc/self/gid_map")
    }
    try systemCall("keep mounts to itself") { pipeline_mounts_follow() }
  }

  private static func write(_ text: String, to path: BytePath) throws(SandboxError) {
    do throws(FileError) {
      try Descriptor.open(path, flags: O_WRONLY).write(Array(text.utf8))
    } catch {
      throw SandboxError("write “\(path.printable)”", errno: error.errno)
    }
  }

  // MARK: - What is shown

  private mutating func add(_ path: BytePath) {
    let trail = PathTrail(path)
    guard let end = trail.end, let tree = try? Self.tree(end, isWritable: false) else { return }
    trails.append(trail)
    trees.append(tree)
  }

  private mutating func add(_ place: AllowedPlaces.Place) throws {
    let trail = PathTrail(place.descriptor.path)
    guard let end = trail.end else {
      throw SandboxError("find “\(place.descriptor.path.printable)”", errno: ENOENT)
    }
    trails.append(trail)
    let isWritable = place.access.contains(.makeFile)
    // A part of what is there already needs a place of its own only if more may be done with it.
    if trees.contains(where: { end.isInside($0.path) && ($0.isWritable || !isWritable) }) { return }
    let tree = try Self.tree(end, isWritable: isWritable)
    guard try tree.copy.status().isSameNode(as: place.descriptor.status()) else {
      throw SandboxError("find “\(end.printable)” again", errno: ESTALE)
    }
    trees.append(tree)
  }

  private static func tree(_ path: BytePath, isWritable: Bool) throws -> Tree {
    let number = try systemCall("copy a mount") { path.withCString { pipeline_copy_tree($0) } }
    let copy = Descriptor(takingOver: number, path: path)
    if !isWritable, pipeline_mount_read_only(number, 1) < 0, errno != ENOSYS {
      throw SandboxError("make a mount read-only", errno: errno)
    }
    return Tree(
      path: path, copy: copy, isFolder: try copy.status().kind == .folder, isWritable: isWritable)
  }

  // MARK: - Putting it together

  private func enter() throws {
    try systemCall("make a root folder") { Self.site.withCString { pipeline_mount_memory($0) } }
    do {
      try fill()
    } catch {
      // What was there before is needed where the process stays.
      Self.site.withCString { _ = pipeline_unmount($0) }
      throw error
    }
  }

  private func fill() throws {
    let root = try Descriptor.openFolder(Self.site)
    // What is below another comes after it.
    for tree in trees.sorted(by: { $0.path < $1.path }) { try attach(tree, to: root) }
    for link in Set(trails.flatMap(\.links)) where !isShown(link.path) {
      let folder = try Self.folder(link.path.parent, below: root)
      let result = link.target.withCString { target in
        link.path.lastComponent.withCString { symlinkat(target, folder.number, $0) }
      }
      // A folder that was made for another path is what a link leads to by now.
      if result < 0, errno != EEXIST { throw SandboxError("make a link", errno: errno) }
    }
    if pipeline_mount_read_only(root.number, 0) < 0, errno != ENOSYS {
      throw SandboxError("make the root folder read-only", errno: errno)
    }
    try systemCall("go to the root folder") { fchdir(root.number) }
    try systemCall("take a folder as the root") { pipeline_become_root() }
  }

  private func isShown(_ path: BytePath) -> Bool { trees.contains { path.isInside($0.path) } }

  private func attach(_ tree: Tree, to root: Descriptor) throws {
    let place: Descriptor
    if tree.isFolder {
      place = try Self.folder(tree.path, below: root)
    } else {
      let folder = try Self.folder(tree.path.parent, below: root)
      let name = tree.path.lastComponent
      // It is there already where the folder itself is shown.
      if let file = try? Self.open(name, in: folder, O_NOFOLLOW) {
        place = file
      } else {
        place = try Descriptor.open(
          name, in: folder, flags: O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode: 0o400)
      }
    }
    try systemCall("show “\(tree.path.printable)”") {
      pipeline_attach_tree(tree.copy.number, place.number)
    }
  }

  /// Returns a folder of the new root, which is made where it is missing.
  private static func folder(_ path: BytePath, below root: Descriptor) throws -> Descriptor {
    var folder = root
    for name in path.components {
      if let next = try? open(name, in: folder, O_NOFOLLOW | O_DIRECTORY) {
        folder = next
      } else {
        try folder.makeFolder(name, mode: 0o755)
        folder = try open(name, in: folder, O_NOFOLLOW | O_DIRECTORY)
      }
    }
    return folder
  }

  private static func open(
    _ name: BytePath, in folder: Descriptor, _ flags: Int32
  ) throws(FileError) -> Descriptor {
    try Descriptor.open(name, in: folder, flags: Int32(pipeline_open_path) | flags)
  }
}
