import CLinux
import Glibc
package import PipelineModel

/// Paths on which nobody but this user and root can put something else.
package enum TrustedPath {
  /// As many links as the kernel follows.
  private static let mostLinks = 40

  /// Finds a file or folder, looking at each folder and link on the way to it.
  ///
  /// All of them belong to this user or root and can be written by nobody else. A folder such as
  /// `/tmp`, in which nobody can replace what is not his own, may be on the way, but not hold the
  /// file itself: what is beside a program is easily taken for its own.
  ///
  /// - Parameters:
  ///   - path: an absolute path.
  ///   - what: what messages call it, such as “The plugin”.
  /// - Returns: the place, not open for reading; its path has no links.
  /// - Throws: `FileError` of code `untrusted` for what others could replace.
  package static func find(_ path: BytePath, as what: String) throws(FileError) -> Descriptor {
    guard path.isAbsolute else {
      throw FileError(
        .other, "\(what) “\(path.printable)” can't be used: its path is not absolute.", path: path)
    }
    let root = try Descriptor.open("/", flags: Int32(pipeline_open_place))
    var folders = [root]
    try check(root.status(), "The folder", root.path)
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
        try checkOwner(status, "The link", place.path)
        links += 1
        guard links <= mostLinks else { throw FileError("find", path, errno: ELOOP) }
        let target = try place.linkTarget()
        if target.isAbsolute { folders = [root] }
        rest += target.components.reversed()
      case .folder:
        try check(status, rest.isEmpty ? what : "The folder", place.path)
        folders.append(place)
      default:
        guard rest.isEmpty else { throw FileError("find", path, errno: ENOTDIR) }
        try checkUnshared(folder.status(), "The folder", folder.path)
        try check(status, what, place.path)
        return place
      }
    }
    let folder = folders[folders.count - 1]
    try checkUnshared(folder.status(), what, folder.path)
    return folder
  }

  /// Finds a regular file.
  package static func findFile(_ path: BytePath, as what: String) throws(FileError) -> Descriptor {
    let place = try find(path, as: what)
    guard try place.status().kind == .regular else {
      throw FileError(
        .notRegular, "\(what) “\(path.printable)” is not a regular file.", path: path)
    }
    return place
  }

  /// Finds a folder.
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
    _ status: FileStatus, _ what: String, _ path: BytePath
  ) throws(FileError) {
    try checkOwner(status, what, path)
    let keepsNames = status.kind == .folder && status.permissions & S_ISVTX != 0
    if !keepsNames { try checkUnshared(status, what, path) }
  }

  private static func checkOwner(
    _ status: FileStatus, _ what: String, _ path: BytePath
  ) throws(FileError) {
    guard status.owner != 0, status.owner != geteuid() else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” belongs to user \(status.owner), neither you nor root, who "
        + "could put other code there: change its owner, or move the plugin to a folder of your "
        + "own.", path: path)
  }

  private static func checkUnshared(
    _ status: FileStatus, _ what: String, _ path: BytePath
  ) throws(FileError) {
    guard status.permissions & (S_IWGRP | S_IWOTH) != 0 else { return }
    throw FileError(
      .untrusted,
      "\(what) “\(path.printable)” may be written by others, who could put other code there: run "
        + "chmod go-w on it.", path: path)
  }
}

extension Descriptor {
  /// Returns what a link, itself open, leads to. Source: readlinkat(2).
  fileprivate func linkTarget() throws(FileError) -> BytePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try systemCall("read the link", path) {
      readlinkat(number, "", &buffer, buffer.count)
    }
    return BytePath(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
  }

  /// Opens for reading what is open as a place; the same file, whatever its path leads to by now.
  /// Source: proc_pid_fd(5).
  package func openedForReading() throws(FileError) -> Descriptor {
    let link = BytePath("/proc/self/fd/\(number)")
    let copy = try systemCall("open", path) {
      link.withCString { pipeline_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) }
    }
    return Descriptor(takingOver: copy, path: path)
  }
}
