import Files
import PipelineModel

/// Keeps sources away from the files of libraries.
///
/// The folders of the library at hand are known by device and inode number, so wherever they are
/// mounted. Any other library, and this one where another file system shows it once more, is known
/// by its marker.
struct LibraryFence: Sendable {
  private let own: [FileStatus]
  private let keepsOffOthers: Bool
  /// What a library has besides its marker; another program may have a file of the same name.
  private static let evidence: [BytePath] = ["manifest", "originals"]

  /// - Parameters:
  ///   - folders: those of the library at hand.
  ///   - keepsOffOthers: whether other libraries are fenced off as well: files are copied out of
  ///     one by `import`, which removes nothing.
  init(_ folders: [Descriptor], keepsOffOthers: Bool = true) throws(FileError) {
    var own: [FileStatus] = []
    for folder in folders { own.append(try folder.status()) }
    self.own = own
    self.keepsOffOthers = keepsOffOthers
  }

  /// Whether a folder is one of the library's, or another library.
  func contains(_ folder: Descriptor) throws(FileError) -> Bool {
    let status = try folder.status()
    if own.contains(where: { $0.isSameNode(as: status) }) { return true }
    return keepsOffOthers ? try Self.isLibrary(folder) : false
  }

  /// The topmost folder above a path, or the path itself, that is behind the fence.
  ///
  /// - Parameter path: an absolute path without links.
  func folder(around path: BytePath) throws(FileError) -> BytePath? {
    var part = BytePath("/")
    for component in path.components {
      part = part.appending(component)
      do throws(FileError) {
        if try contains(Descriptor.openFolder(part)) { return part }
      } catch let error where [.notFound, .permission].contains(error.code) {
        // A file at the end of the path, or a folder that only lets through.
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
      // Nobody who may not look into it takes anything from it.
      return false
    }
  }
}
