import Glibc
package import PipelineModel

extension Descriptor {
  /// Removes a file, or a folder with all that is in it, however deep that is.
  ///
  /// Folders within are moved up first, so that neither the stack nor the number
  /// of open files depends on what a stranger made. Links are never followed.
  package func removeTree(_ entry: FolderEntry) throws(FileError) {
    guard try kind(of: entry) == .folder else { return try remove(entry.name) }
    var folders = [entry.name]
    var number = 0
    while let name = folders.popLast() {
      // A stranger may have left a folder that even its owner may not read.
      try setPermissions(of: name, 0o700)
      let folder = try Descriptor.openFolder(name, in: self, followsLinks: false)
      for child in try folder.entries() {
        guard try folder.kind(of: child) == .folder else {
          try folder.remove(child.name)
          continue
        }
        // To be moved, a folder must be writable itself: its “..” changes.
        try folder.setPermissions(of: child.name, 0o700)
        folders.append(try moveUp(child.name, from: folder, &number))
      }
      try removeFolder(name)
    }
  }

  /// What the names of folders begin with that were moved up to be removed, before a number.
  package static let removedPrefix = ".removed-"

  /// Moves a folder into this one, under a name that nothing has.
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

  /// Gives a file a second name in this folder. Source: linkat(2).
  package func link(_ file: BytePath, as name: BytePath) throws(FileError) {
    try systemCall("link", file) {
      file.withCString { old in
        name.withCString { linkat(AT_FDCWD, old, number, $0, 0) }
      }
    }
  }
}
