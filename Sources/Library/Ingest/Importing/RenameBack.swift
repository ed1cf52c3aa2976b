import Files
import Glibc
import PipelineModel

/// Puts a file in `incoming/` back into its folder, never over another file.
struct RenameBack {
  let incoming: Descriptor

  /// The file's attributes when it was imported.
  struct Attributes {
    var permissions: UInt32
    /// In nanoseconds since 1970.
    var modified: Int64
  }

  /// How many other names to try if the file's own is taken.
  private static let otherNames = 99

  /// Renames the file back and waits until both folders are on disk.
  ///
  /// - Parameters:
  ///   - taken: the name in `incoming/`.
  ///   - folder: the file's former folder.
  ///   - name: its name there; if taken, `NAME.returned-1` and so on are tried.
  ///   - attributes: restored first; `nil` for a file that was never modified.
  /// - Returns: the file's new name.
  func run(
    _ taken: BytePath, to folder: Descriptor, as name: BytePath, restoring attributes: Attributes?
  ) throws(FileError) -> BytePath {
    if let attributes { try restore(attributes, of: taken) }
    for number in 0...Self.otherNames {
      let free = Self.name(name, number)
      do throws(FileError) {
        try incoming.rename(taken, to: folder, as: free)
        try folder.sync()
        try incoming.sync()
        return free
      } catch let error where error.code == .exists {
        continue
      }
    }
    throw FileError(
      .exists,
      "“\(folder.path.appending(name).printable)” and all alternative names are taken.",
      path: folder.path.appending(name))
  }

  private func restore(_ attributes: Attributes, of taken: BytePath) throws(FileError) {
    let file = try Descriptor.open(taken, in: incoming, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let status = try file.status()
    if status.identity.modified != attributes.modified {
      try file.setModified(attributes.modified)
    }
    if status.permissions != attributes.permissions {
      try file.setPermissions(attributes.permissions)
    }
  }

  /// The name with a number, truncated to the 255 bytes a name may have.
  private static func name(_ name: BytePath, _ number: Int) -> BytePath {
    if number == 0 { return name }
    let suffix = Array(".returned-\(number)".utf8)
    return BytePath(bytes: name.bytes.prefix(Int(NAME_MAX) - suffix.count) + suffix)
  }
}
