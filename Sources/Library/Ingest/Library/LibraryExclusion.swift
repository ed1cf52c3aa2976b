package import Files
package import PipelineModel

/// Keeps sources and exports away from the files of libraries.
///
/// This library's folders are recognized by device and inode number, wherever they are mounted. Any
/// other library, or this one shown a second time by another file system, by its marker.
package struct LibraryExclusion: Sendable {
  private let own: [FileStatus]
  private let keepsOffOthers: Bool
  /// What a library contains besides its marker; another program may use the same file name.
  private static let evidence: [BytePath] = ["manifest", "originals"]

  /// - Parameters:
  ///   - folders: this library's folders.
  ///   - keepsOffOthers: whether to fence off other libraries, too: `import` may copy from one, as
  ///     it removes nothing.
  package init(_ folders: [Descriptor], keepsOffOthers: Bool = true) throws(FileError) {
    var own: [FileStatus] = []
    for folder in folders { own.append(try folder.status()) }
    self.own = own
    self.keepsOffOthers = keepsOffOthers
  }

  /// Whether a folder belongs to this library, or is another library.
  package func contains(_ folder: Descriptor) throws(FileError) -> Bool {
    let status = try folder.status()
    if own.contains(where: { $0.isSameNode(as: status) }) { return true }
    return keepsOffOthers ? try Self.isLibrary(folder) : false
  }

  /// The topmost folder at or above a path that is excluded.
  ///
  /// - Parameter path: an absolute path without links.
  package func folder(around path: BytePath) throws(FileError) -> BytePath? {
    var part = BytePath("/")
    for component in path.components {
      part = part.appending(component)
      do throws(FileError) {
        if try contains(Descriptor.openFolder(part)) { return part }
      } catch let error where [.notFound, .permission].contains(error.code) {
        // A file at the end of the path, or a folder that may only be passed through.
        continue
      }
    }
    return nil
  }

  private static func isLibrary(_ folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      for name in [LibraryLayout.marker] + evidence {
        if try folder.statusIfThere(of: name) == nil { return false }
      }
      return true
    } catch let error where error.code == .permission {
      // Files in an unreadable folder can't be imported.
      return false
    }
  }
}
