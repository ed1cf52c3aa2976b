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
    if isDone {
      guard try library.catalog.mayHaveLostRenditions() else { return false }
      (isDone, lost) = (false, 0)
    }
    // Without room for all of them the bytes stay where readers find them: imports matter more.
    let room = try library.catalog.roomForFormerBytes()
    if room > 0, try library.hasReserve(besides: room), try library.catalog.moveFormerBytes() {
      return true
    }
    let page = try library.catalog.remakeLostRenditions()
    lost += page.count
    if page.count > 0 { report.committed() }
    isDone = !page.hasMore
    if isDone, lost > 0 {
      let damaged = try library.catalog.damagedRenditions()
      report.warning(
        library.layout.database == nil
          ? "“\(library.layout.renditionDatabase.printable)” was missing or damaged, and with it the bytes of "
            + "\(lost) renditions, which are made again."
            + (damaged.map { " The damaged file is “\($0.printable)”; nothing needs it." } ?? "")
          : "The catalog does not have the bytes of \(lost) renditions, as after an update or a dump without "
            + "them. They are made once more; nothing else is missing.")
    }
    return !isDone
  }
}
