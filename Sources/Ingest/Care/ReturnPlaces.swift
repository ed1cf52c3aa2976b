import Configuration
import Files
import PipelineModel

/// Opens the folders that files go back to.
final class ReturnPlaces {
  private let library: IngestLibrary
  private var roots: [BytePath: Descriptor] = [:]

  init(library: IngestLibrary) { self.library = library }

  /// Opens the folder of a path as far down as it is there; makes nothing.
  ///
  /// - Returns: the deepest folder, and whether it is the path's own.
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

  /// Opens the folder of a path and makes what is missing of it below its source.
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

  /// Opens a source, which must be there, and mounted if it was.
  private func root(_ source: BytePath) throws(IngestError) -> Descriptor {
    if let open = roots[source] { return open }
    let opened = try translating { try IngestSource(SourceConfiguration(path: source)) }
    if source != "/" { try MountGuard(library: library).check(opened) }
    roots[source] = opened.folder
    return opened.folder
  }
}
