import Catalog
import Files
import Manifest
package import PipelineModel

/// The result of undoing a run.
package struct UndoResult: Hashable, Sendable {
  /// Files that are back where they came from.
  package var returned = 0
  /// Those of them that never left, so that nothing was written.
  package var left = 0
  /// Files that could not be returned; their assets stay.
  package var failed = 0

  package init() {}
}

/// Returns a run's imports to where they came from, the newest first.
///
/// 1. *Returning* in the manifest, durable
/// 2. each original renamed or copied to its old path, never over anything,
///    with its permissions and time, file and folder durable
/// 3. *Returned* in the manifest, durable; then one transaction in the catalog
///
/// After a kill between any two steps, `ReturnRecovery` completes or reverts the return.
package struct Undo {
  let library: IngestLibrary
  let report: any IngestReport
  /// The number of assets that one flush of the manifest serves.
  private static let groupSize = 64

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Undoes a run.
  ///
  /// - Parameter isStopped: whether to stop early; the rest stays as it is.
  package func undo(
    _ run: AssetID, isStopped: @escaping () -> Bool
  ) throws(IngestError) -> UndoResult {
    var result = UndoResult()
    var last: AssetID?
    let folders = ReturnFolders(library: library)
    while !isStopped() {
      let page = try translating {
        try library.reader.origins(of: run, before: last, limit: Self.groupSize)
      }
      if page.isEmpty { break }
      // A group has one asset of each content: what happens to a second depends on the first.
      var digests: Set<Digest> = []
      let group = page.prefix { digests.insert($0.digest).inserted }
      last = group.last?.id
      let work = ReturnGroup(
        library: library, report: report, folders: folders, isStopped: isStopped)
      try work.returnFiles(Array(group), result: &result)
    }
    return result
  }
}
