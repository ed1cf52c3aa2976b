import Glibc
package import PipelineModel

extension Descriptor {
  /// Removes a file, or a folder with everything in it, however deep.
  ///
  /// Moves nested folders up first, so that neither stack depth nor open files depend on what a
  /// stranger made. Never follows links.
  package func removeTree(_ entry: FolderEntry) throws(FileError) {
    guard try kind(of: entry) == .folder else { return try remove(entry.name) }
    var folders = [entry.name]
    var number = 0
    while let name = folders.popLast() {
      // A stranger may have left a folder that even its owner can't read.
      try setPermissions(of: name, 0o700)
      let folder = try Descriptor.openFolder(name, in: self, followsLinks: false)
      for child in try folder.entries() {
        guard try folder.kind(of: child) == .folder else {
          try folder.remove(child.name)
          continue
        }
        // To be moved, a folder must itself be writable: its “..” changes.
        try folder.setPermissions(of: child.name, 0o700)
        folders.append(try moveUp(child.name, from: folder, &number))
      }
      try removeFolder(name)
    }
  }

  /// The prefix of names of folders moved up for removal; a number follows.
  package static let removedPrefix = ".removed-"

  /// Moves a folder into this one, under a free name.
  private func moveUp(
    _ name: BytePath, from folder: Descriptor, _ number: inout Int
  ) throws(FileError) -> BytePath {
    while true {
      let place = BytePath("\(Self.removedPrefix)\(number)")
      number += 1
      do throws(FileError) {
        try folder.rename(name, to: self, as: place)
        return place
      } catch {
        if error.code != .exists { throw error }
      }
    }
  }

  private func kind(of entry: FolderEntry) throws(FileError) -> FileStatus.Kind {
    if let kind = entry.kind { return kind }
    return try status(of: entry.name).kind
  }

  /// Creates a hard link to a file in this folder. Source: linkat(2).
  package func link(_ file: BytePath, as name: BytePath) throws(FileError) {
    try systemCall("link", file) {
      file.withCString { old in
        name.withCString { linkat(AT_FDCWD, old, number, $0, 0) }
      }
    }
  }
}
