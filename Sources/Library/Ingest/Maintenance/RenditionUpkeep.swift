import Catalog
import PipelineModel

/// Brings the database of renditions and the catalog together while nothing else is due: moves bytes that an
/// older version kept in the catalog, and makes renditions due again whose bytes were lost.
struct RenditionUpkeep {
  private var isDone = false
  private var lost = 0

  /// Takes one step, of short transactions.
  ///
  /// - Returns: whether more remains to be done.
  mutating func step(_ library: IngestLibrary, _ report: any IngestReport) throws -> Bool {
    // Without room the catalog keeps its size, and readers find the bytes there.
    guard !isDone, try library.hasReserve() else { return false }
    if try library.catalog.moveFormerBytes() { return true }
    let page = try library.catalog.remakeLostRenditions()
    lost += page.count
    if page.count > 0 { report.committed() }
    isDone = !page.hasMore
    if isDone, lost > 0 {
      report.warning(
        "“\(library.layout.renditionDatabase.printable)” was missing or damaged, and with it the bytes of "
          + "\(lost) renditions, which are made again.")
    }
    return !isDone
  }
}
