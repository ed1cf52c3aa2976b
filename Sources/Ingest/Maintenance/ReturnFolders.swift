import Configuration
import Files
import PipelineModel

/// Opens the folders that files are returned to.
final class ReturnFolders {
  private let library: IngestLibrary
  private var roots: [BytePath: Descriptor] = [:]

  init(library: IngestLibrary) { self.library = library }

  /// Opens a path's folder as deep as it exists; creates nothing.
  ///
  /// - Returns: the deepest existing folder, and whether it is the path's own.
  func deepest(
    of path: BytePath, in source: BytePath
  ) throws(IngestError) -> (folder: Descriptor, isWhole: Bool) {
    var folder = try root(source)
    for part in path.components.dropLast() {
      do throws(FileError) {
        folder = try Descriptor.openFolder(part, in: folder, followsLinks: false)
      } catch let error where error.code == .notFound {
        return (folder, false)
      } catch {
        throw IngestError(error)
      }
    }
    return (folder, true)
  }

  /// Opens a path's folder, creating what is missing below its source.
  func folder(of path: BytePath, in source: BytePath) throws(IngestError) -> Descriptor {
    var folder = try root(source)
    for part in path.components.dropLast() {
      folder = try translating {
        if try folder.makeFolder(part, mode: 0o777) { try folder.sync() }
        return try Descriptor.openFolder(part, in: folder, followsLinks: false)
      }
    }
    return folder
  }

  /// Opens a source, which must exist, and be mounted if it was before.
  private func root(_ source: BytePath) throws(IngestError) -> Descriptor {
    if let open = roots[source] { return open }
    let opened = try translating { try IngestSource(SourceConfiguration(path: source)) }
    if source != "/" { try MountGuard(library: library).check(opened) }
    roots[source] = opened.folder
    return opened.folder
  }
}
