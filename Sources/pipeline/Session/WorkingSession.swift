import Catalog
import Configuration
import Engine
import Files
import Ingest
import PipelineModel

/// A library that this process has locked, with its stages ready to run.
struct WorkingSession {
  let surroundings: Surroundings
  let plan: StagePlan
  let library: IngestLibrary
  let engine: Engine
  let report: RunReport

  /// Validates the configuration, takes the lock, recovers, and loads the stages.
  ///
  /// Everything that can be wrong with the configuration is found before the
  /// library is touched.
  ///
  /// - Parameter makesLibrary: whether a missing library is made.
  init(_ context: Context, makesLibrary: Bool) throws {
    surroundings = try Surroundings(context)
    let configuration = surroundings.configuration
    plan = try StagePlan(
      configuration, finder: PluginFinder(configured: configuration.plugins))
    try surroundings.checkCatalogFolder()
    let found =
      makesLibrary
      ? try LibraryFolder.openOrMake(surroundings.layout, neighbour: configuration.folder)
      : try LibraryFolder.open(surroundings.layout)
    try surroundings.checkFileSystem()
    let lock = try found.lock(wait: try context.wait()) { Interruption.shared.isRequested }
    report = RunReport(console: context.console)
    library = try IngestLibrary(
      found, lock: lock, reserve: surroundings.reserve(), report: report)
    engine = try Engine(
      plan, ledger: library.catalog, originals: library.originals,
      library: surroundings.layout.root, memoryBudget: configuration.memoryBudget.bytes,
      report: report)
  }
}
