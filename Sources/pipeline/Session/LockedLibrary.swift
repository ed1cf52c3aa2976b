import Configuration
import Engine
import Files
import Glibc
import Ingest
import PipelineModel
import PluginHost

/// A library that this process has locked, with a valid configuration; nothing
/// in the library was read or changed yet.
struct LockedLibrary {
  let setup: LibrarySetup
  let plan: StagePlan
  let found: LibraryFolder
  let lock: FileLock

  /// Takes the lock; waits for it as long as `--wait` allows.
  ///
  /// - Parameter makesLibrary: whether to make a missing library.
  /// - Throws: `IngestError` of code `locked` if another process keeps the lock.
  init(_ context: Context, makesLibrary: Bool) throws {
    let library = try ConfiguredLibrary(context, makesLibrary: makesLibrary)
    let lock = try library.found.lock(wait: try context.wait()) {
      SignalHandler.shared.isStopRequested
    }
    self.init(library, lock: lock)
  }

  init(_ library: ConfiguredLibrary, lock: FileLock) {
    setup = library.setup
    plan = library.plan
    found = library.found
    self.lock = lock
  }
}

/// A library with a valid configuration, not locked.
///
/// The configuration is fully validated before the library is touched.
struct ConfiguredLibrary {
  let setup: LibrarySetup
  let plan: StagePlan
  let found: LibraryFolder

  /// The same library without its lock.
  init(_ locked: LockedLibrary) {
    setup = locked.setup
    plan = locked.plan
    found = locked.found
  }

  /// Validates the configuration and finds the library.
  ///
  /// - Parameter makesLibrary: whether to make a missing library.
  init(_ context: Context, makesLibrary: Bool) throws {
    setup = try LibrarySetup(context)
    let configuration = setup.configuration
    plan = try StagePlan(
      configuration, finder: PluginFinder(configured: configuration.plugins),
      recorded: setup.recordedStages)
    try setup.checkCatalogFolder()
    found =
      makesLibrary
      ? try LibraryFolder.openOrMake(setup.layout, configuration: configuration.file)
      : try LibraryFolder.open(setup.layout)
    try setup.checkFileSystem()
  }
}
