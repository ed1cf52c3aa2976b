import Catalog
import Files
import PipelineModel

/// Removes files of renditions that nothing refers to any more.
///
/// They are on a list of the catalog until they are removed. A kill between the
/// two leaves files without a record, which `verify` names and `gc` removes.
struct DiscardedFiles {
  let library: IngestLibrary

  /// Removes all that are on the list.
  ///
  /// - Returns: how many there were.
  @discardableResult
  func remove() throws(IngestError) -> Int {
    let paths = try translating { try library.catalog.takeDiscardedFiles() }
    for path in paths { try remove(BytePath(path)) }
    return paths.count
  }

  private func remove(_ path: BytePath) throws(IngestError) {
    do throws(FileError) {
      try library.folder.openParent(of: path).remove(path.lastComponent)
    } catch let error where error.code == .notFound {
      return
    } catch {
      throw IngestError(error)
    }
  }
}
