import CLinux
import Glibc
package import PipelineModel

/// Paths at which only this user and root can put files.
package enum TrustedPath {
  /// The kernel's limit of links to follow.
  private static let mostLinks = 40

  /// Finds a file or folder, checking each folder and link on the way.
  ///
  /// All must belong to this user or root and be writable by nobody else. In a user namespace
  /// without root, system folders may belong to an owner outside it: whoever owns the machine's `/`
  /// can replace anything anyway. A folder such as `/tmp`, where users can't replace each other's
  /// files, may be on the way but not contain the file itself: files next to a program are easily
  /// taken for its own.
  ///
  /// - Parameters:
  ///   - path: an absolute path.
  ///   - what: what messages call it, such as “The plugin”.
  /// - Returns: the file or folder, not open for reading; its path contains no links.
  /// - Throws: `FileError` of code `untrusted` if others could replace it.
  package static func find(_ path: BytePath, as what: String) throws(FileError) -> Descriptor {
    guard path.isAbsolute else {
      throw FileError(
        .other, "\(what) “\(path.printable)” can't be used: its path is not absolute.", path: path)
    }
    let access = WriteAccess()
    let root = try Descriptor.open("/", flags: Int32(pipeline_open_place))
    var folders = [root]
    try check(root, "The folder", access)
    var rest = Array(path.components.reversed())
    var links = 0
    while let name = rest.popLast() {
      let folder = folders[folders.count - 1]
      switch name {
      case ".": continue
      case "..":
        if folders.count > 1 { folders.removeLast() }
        continue
      default: break
      }
      let place = try Descriptor.open(
        name, in: folder, flags: Int32(pipeline_open_place) | O_NOFOLLOW)
      let status = try place.status()
      switch status.kind {
      case .link:
        try checkOwner(status, "The link", place.path, access)
        links += 1
        guard links <= mostLinks else { throw FileError("find", path, errno: ELOOP) }
        let target = try place.linkTarget()
        if target.isAbsolute { folders = [root] }
        rest += target.components.reversed()
      case .folder:
        try check(place, rest.isEmpty ? what : "The folder", access)
        folders.append(place)
      default:
        guard rest.isEmpty else { throw FileError("find", path, errno: ENOTDIR) }
        try checkUnshared(folder, "The folder", access)
        try check(place, what, access)
        return place
      }
    }
    let folder = folders[folders.count - 1]
    try checkUnshared(folder, what, access)
    return folder
  }

  package static func findFile(_ path: BytePath, as what: String) throws(FileError) -> Descriptor {
    let place = try find(path, as: what)
    guard try place.status().kind == .regular else {
      throw FileError(.notRegular, "\(what) “\(path.printable)” is not a regular file.", path: path)
    }
    return place
  }

  package static func findFolder(
    _ path: BytePath, as what: String
  ) throws(FileError) -> Descriptor {
    let place = try find(path, as: what)
    guard try place.status().kind == .folder else {
      throw FileError(.notRegular, "\(what) “\(path.printable)” is not a folder.", path: path)
    }
    return place
  }

  private static func check(
    _ place: Descriptor, _ what: String, _ access: WriteAccess
  ) throws(FileError) {
    let status = try place.status()
    try checkOwner(status, what, place.path, access)
    let keepsNames = status.kind == .folder && status.permissions & S_ISVTX != 0
    if !keepsNames { try checkUnshared(place, what, access) }
  }

  private static func checkOwner(
    _ status: FileStatus, _ what: String, _ path: BytePath, _ access: WriteAccess
  ) throws(FileError) {
    let owner = access.owner(of: status)
    switch owner {
    case .user, .root: return
    case .outside where isSystems(path): return
    case .outside, .other: break
    }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” belongs to \(owner.words), not to you or root, and its owner "
        + "could put other code there: change its owner, or move the plugin to a folder of your "
        + "own.", path: path)
  }

  private static func checkUnshared(
    _ place: Descriptor, _ what: String, _ access: WriteAccess
  ) throws(FileError) {
    guard let others = try access.others(place.status(), at: place) else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(place.path.printable)” may be written by \(others), who could put other code there: "
        + "run chmod go-w on it.", path: place.path)
  }

  /// Trees that by convention belong only to the administrator.
  private static let systemTrees: [BytePath] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc",
  ]
  /// Folders of the administrator in which others may have their own.
  private static let systemFolders: Set<BytePath> = [
    "/", "/home", "/media", "/mnt", "/opt", "/run", "/srv", "/tmp", "/var", "/var/tmp",
  ]

  /// Whether a path belongs to the system by convention, whoever owns it. Source: hier(7).
  ///
  /// - Parameter path: an absolute path without links.
  static func isSystems(_ path: BytePath) -> Bool {
    systemFolders.contains(path)
      || systemTrees.contains { path == $0 || path.relative(to: $0) != nil }
  }
}

extension Descriptor {
  /// Returns the target of an open link. Source: readlinkat(2).
  fileprivate func linkTarget() throws(FileError) -> BytePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try systemCall("read the link", path) {
      readlinkat(number, "", &buffer, buffer.count)
    }
    return BytePath(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }

  /// Reopens an `O_PATH` descriptor for reading: the same file, wherever its path leads by now.
  /// Source: proc_pid_fd(5).
  package func openedForReading() throws(FileError) -> Descriptor {
    let link = BytePath("/proc/self/fd/\(number)")
    let copy = try systemCall("open", path) {
      link.withCString { pipeline_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) }
    }
    return Descriptor(takingOver: copy, path: path)
  }
}
