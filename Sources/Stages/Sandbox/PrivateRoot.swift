import CSandbox
import Files
import Glibc
import PipelineModel

/// A private root folder that shows what a policy allows and nothing else.
///
/// Anything else can't even be examined. Landlock still decides what may be done: the private root
/// hides names, sizes and attributes, which Landlock does not. Where the kernel or a container
/// denies namespaces, Landlock works alone. Source: mount_namespaces(7), user_namespaces(7),
/// pivot_root(2).
struct PrivateRoot {
  /// Where the new root is assembled; its previous content is copied first.
  private static let site: BytePath = "/proc"
  /// Shown in addition to `/proc`, without a Landlock rule: links between system folders.
  private static let shown: [BytePath] = ["/etc/alternatives"]
  /// Links that programs expect.
  private static let links: [BytePath] = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"]

  /// A visible file or folder, by its path without links.
  fileprivate struct Part {
    let path: BytePath
    let isWritable: Bool
    /// The status when its place was found; `nil` if that was not checked.
    let status: FileStatus?
  }

  private var parts: [Part] = []
  private var links: Set<PathResolution.Link> = []

  /// Moves this process to a private root if possible; otherwise leaves it where it is.
  ///
  /// The working folder stays the same, or becomes `/` if it is not visible. Requires that no other
  /// thread exists.
  ///
  /// - Parameters:
  ///   - places: the places to show.
  ///   - names: further paths by which these are called; may contain links.
  static func enter(showing places: AllowedPaths, names: [BytePath]) {
    var folder: BytePath = "/"
    do {
      // If everything is allowed, there is nothing to hide.
      if places.all.contains(where: { PathResolution($0.path).end == "/" }) { return }
      folder = try FileSystem.workingFolder()
      try leaveMounts()
      var root = PrivateRoot()
      for path in shown { root.add(path) }
      for place in places.all { try root.add(place) }
      for path in names + places.libraryLinks + Self.links {
        root.links.formUnion(PathResolution(path).links)
      }
      try root.enter()
      if folder.withCString({ chdir($0) }) < 0 { chdir("/") }
    } catch {
      // The process stays where it is, restricted by Landlock. This happens only on machines that
      // refuse something `SandboxSupport` did not try.
      _ = folder.withCString { chdir($0) }
    }
  }

  /// Returns why processes can't be moved to a private root here; `nil` if they can.
  static func refusal() -> Int32? {
    guard let flags = namespaces else { return EPERM }
    let isOwn = flags & Int32(pipeline_new_user) != 0
    let users = "\(geteuid()) \(geteuid()) 1"
    let groups = "\(getegid()) \(getegid()) 1"
    let code = users.withCString { users in
      groups.withCString { pipeline_try_root(flags, isOwn ? users : nil, $0) }
    }
    return code == 0 ? nil : code
  }

  /// The required namespaces: root mounts as root; other users must first become root in a user
  /// namespace. A process that may read all files but not mount would lose that right there, so it
  /// stays.
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
    try systemCall("create a mount namespace") { pipeline_unshare(flags) }
    if flags & Int32(pipeline_new_user) != 0 {
      // User and group keep their numbers. The kernel allows mapping groups only once setgroups(2)
      // is denied.
      try write("deny", to: "/proc/self/setgroups")
      try write("\(user) \(user) 1", to: "/proc/self/uid_map")
      try write("\(group) \(group) 1", to: "/proc/self/gid_map")
    }
    try systemCall("make mounts follow the system's") { pipeline_mounts_follow() }
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
    guard let end = follow(path) else { return }
    parts.append(Part(path: end, isWritable: false, status: nil))
  }

  private mutating func add(_ place: AllowedPaths.Place) throws(SandboxError) {
    guard let end = follow(place.path) else {
      throw SandboxError("find “\(place.path.printable)”", errno: ENOENT)
    }
    let isWritable = place.access.contains(.makeFile)
    parts.append(Part(path: end, isWritable: isWritable, status: place.status))
  }

  /// Records the links along a path, and returns its target.
  private mutating func follow(_ path: BytePath) -> BytePath? {
    let trail = PathResolution(path)
    links.formUnion(trail.links)
    return trail.end
  }

  // MARK: - Putting it together

  private func enter() throws {
    let processes = try Self.copy(Self.site)
    try systemCall("make a root folder") { Self.site.withCString { pipeline_mount_memory($0) } }
    do {
      try fill(processes)
    } catch {
      // If the process stays, it needs the previous content.
      Self.site.withCString { _ = pipeline_unmount($0) }
      throw error
    }
  }

  /// - Parameter processes: the copy of what the new root now hides.
  private func fill(_ processes: Descriptor) throws {
    let root = try Descriptor.openFolder(Self.site)
    try attach(processes, isFolder: true, to: root)
    var shown = [Part(path: Self.site, isWritable: false, status: nil)]
    // Parents before children, and writable before read-only for the same path.
    let ordered = parts.sorted {
      $0.path == $1.path ? $0.isWritable && !$1.isWritable : $0.path < $1.path
    }
    for part in ordered where !part.isIn(shown) {
      try show(part, in: root)
      shown.append(part)
    }
    for link in links where !shown.contains(where: { link.path.isInside($0.path) }) {
      let folder = try Self.folder(link.path.parent, below: root)
      let result = link.target.withCString { target in
        link.path.lastComponent.withCString { symlinkat(target, folder.number, $0) }
      }
      // A folder that was made for another path may be where a link belongs.
      if result < 0, errno != EEXIST { throw SandboxError("make a link", errno: errno) }
    }
    try systemCall("make the root folder read-only") { pipeline_mount_read_only(root.number, 0) }
    try systemCall("change to the root folder") { fchdir(root.number) }
    try systemCall("change the root") { pipeline_become_root() }
  }

  private func show(_ part: Part, in root: Descriptor) throws {
    let copy = try Self.copy(part.path)
    let status = try copy.status()
    // Somebody may have replaced it since it was checked.
    if let known = part.status, !status.isSameNode(as: known) {
      throw SandboxError("find “\(part.path.printable)” again", errno: ESTALE)
    }
    if !part.isWritable {
      try systemCall("make a mount read-only") { pipeline_mount_read_only(copy.number, 1) }
    }
    try attach(copy, isFolder: status.kind == .folder, to: root)
  }

  /// Returns a detached copy of a file or folder as mounted.
  private static func copy(_ path: BytePath) throws(SandboxError) -> Descriptor {
    let number = try systemCall("copy a mount") { path.withCString { pipeline_copy_tree($0) } }
    return Descriptor(takingOver: number, path: path)
  }

  private func attach(_ copy: Descriptor, isFolder: Bool, to root: Descriptor) throws {
    let place: Descriptor
    if isFolder {
      place = try Self.folder(copy.path, below: root)
    } else {
      let folder = try Self.folder(copy.path.parent, below: root)
      let name = copy.path.lastComponent
      // It exists already if the folder itself is visible.
      if let file = try? Self.open(name, in: folder, O_NOFOLLOW) {
        place = file
      } else {
        place = try Descriptor.open(
          name, in: folder, flags: O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode: 0o400)
      }
    }
    try systemCall("show “\(copy.path.printable)”") {
      pipeline_attach_tree(copy.number, place.number)
    }
  }

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

extension PrivateRoot.Part {
  /// Whether other parts show it already; a part needs its own mount only if it allows more than
  /// they do.
  fileprivate func isIn(_ shown: [Self]) -> Bool {
    shown.contains { path.isInside($0.path) && ($0.isWritable || !isWritable) }
  }
}

/// The links along a path, and its target.
struct PathResolution {
  struct Link: Hashable {
    /// The link's own path, without links.
    let path: BytePath
    /// As stored in the link: absolute, or relative to the link's folder.
    let target: BytePath
  }

  /// The links in the order of traversal.
  private(set) var links: [Link] = []
  /// The path without links; `nil` if it leads nowhere.
  private(set) var end: BytePath?

  /// The kernel's limit of links.
  private static let mostLinks = 40

  init(_ path: BytePath) {
    var place: BytePath = "/"
    var rest = Array(path.components.reversed())
    while let name = rest.popLast() {
      if name == "." { continue }
      if name == ".." {
        place = place.parent
        continue
      }
      let next = place.appending(name)
      let flags = Int32(pipeline_open_path) | O_NOFOLLOW
      guard let status = try? Descriptor.open(next, flags: flags).status() else { return }
      guard status.kind == .link else {
        place = next
        continue
      }
      guard links.count < Self.mostLinks, let target = Self.target(of: next) else { return }
      links.append(Link(path: next, target: target))
      if target.isAbsolute { place = "/" }
      rest += target.components.reversed()
    }
    end = place
  }

  private static func target(of link: BytePath) -> BytePath? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = link.withCString { readlink($0, &buffer, buffer.count) }
    guard count > 0 else { return nil }
    return BytePath(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }
}
