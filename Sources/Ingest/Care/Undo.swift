import Catalog
import Files
import Manifest
package import PipelineModel

/// What came of undoing a run.
package struct UndoResult: Hashable, Sendable {
  /// Files that are where they came from again.
  package var returned = 0
  /// Files of those that were never gone, so that nothing was written.
  package var left = 0
  /// Files that could not be given back; their assets stay.
  package var failed = 0

  package init() {}
}

/// Gives a run's imports back to where they came from, the newest first.
///
/// 1. *Returning* in the manifest, durable
/// 2. each original renamed to its old path, or copied there, never over
///    anything, with its permissions and time, file and folder durable
/// 3. *Returned* in the manifest, durable; then one transaction in the catalog
///
/// A kill between any two steps is made good by `ReturnRecovery`.
package struct Undo {
  let library: IngestLibrary
  let report: any IngestReport
  /// How many assets one flush of the manifest serves.
  private static let groupSize = 64

  package init(library: IngestLibrary, report: any IngestReport) {
    self.library = library
    self.report = report
  }

  /// Undoes a run.
  ///
  /// - Parameter isStopped: whether to leave the rest, which stays as it is.
  package func undo(
    _ run: AssetID, isStopped: @escaping () -> Bool
  ) throws(IngestError) -> UndoResult {
    var result = UndoResult()
    var last: AssetID?
    let places = ReturnPlaces(library: library)
    while !isStopped() {
      let page = try translating {
        try library.reader.origins(of: run, before: last, limit: Self.groupSize)
      }
      if page.isEmpty { break }
      // One group has one asset of each content: what becomes of the second
      // depends on what became of the first.
      var digests: Set<Digest> = []
      let group = page.prefix { digests.insert($0.digest).inserted }
      last = group.last?.id
      let work = ReturnGroup(
        library: library, report: report, places: places, isStopped: isStopped)
      try work.giveBack(Array(group), result: &result)
    }
    return result
  }
}
