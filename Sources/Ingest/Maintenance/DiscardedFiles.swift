import Catalog
import Files
import PipelineModel

/// Removes rendition files that nothing refers to any more.
///
/// The catalog lists them until they are removed. A kill in between leaves files without a record,
/// which `verify` reports and `gc` removes.
struct DiscardedFiles {
  let library: IngestLibrary

  /// Removes all files on the list.
  ///
  /// - Returns: their number.
  @discardableResult
  func remove() throws(IngestError) -> Int {
    let paths = try translating { try library.catalog.consumeDiscardedFiles() }
    // A file that can't be removed stays behind as after a kill, and stops nothing.
    for path in paths { try? library.folder.removeIfThere(BytePath(path)) }
    return paths.count
  }
}
