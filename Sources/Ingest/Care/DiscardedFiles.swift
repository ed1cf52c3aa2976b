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
    // What can't be removed is left behind like after a kill, and keeps nobody from going on.
    for path in paths { try? library.folder.removeIfThere(BytePath(path)) }
    return paths.count
  }
}
