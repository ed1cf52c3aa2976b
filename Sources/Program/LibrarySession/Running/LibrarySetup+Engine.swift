import Configuration
import Engine
import Files
import Originals
import PipelineModel
import Records
import Renditions

extension LibrarySetup {
  /// Makes the engine of a session.
  ///
  /// - Parameters:
  ///   - folder: contains `work/`.
  ///   - isStopped: a sign of life, and whether to end work that takes long.
  func makeEngine(
    _ plan: StagePlan, ledger: any Ledger, originals: any OriginalStore,
    renditions: any RenditionStore, folder: Descriptor, report: RunReport,
    isStopped: () -> Bool = { false }
  ) throws -> Engine {
    try Engine(
      plan, ledger: ledger, originals: originals, renditions: renditions, library: folder,
      memoryBudget: configuration.memoryBudget.bytes, report: report,
      shortage: { shortage() }, isStopped: isStopped)
  }
}
