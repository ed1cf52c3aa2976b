import Configuration
import Engine
import Files
import Glibc
import Ingest
import PipelineModel
import PluginHost

/// A library that this process has locked, and a configuration that is valid;
/// nothing in the library was looked at or changed yet.
struct LockedLibrary {
  let surroundings: Surroundings
  let plan: StagePlan
  let found: LibraryFolder
  let lock: FileLock

  /// Takes the lock, waiting for it as long as the command line says.
  ///
  /// - Parameter makesLibrary: whether a missing library is made.
  /// - Throws: `IngestError` of code `locked` if another process keeps it.
  init(_ context: Context, makesLibrary: Bool) throws {
    let library = try ConfiguredLibrary(context, makesLibrary: makesLibrary)
    let lock = try library.found.lock(wait: try context.wait()) {
      Interruption.shared.isRequested
    }
    self.init(library, lock: lock)
  }

  /// Takes over a lock.
  init(_ library: ConfiguredLibrary, lock: FileLock) {
    surroundings = library.surroundings
    plan = library.plan
    found = library.found
    self.lock = lock
  }
}

/// A library with a valid configuration, not locked.
///
/// Everything that can be wrong with the configuration is found before the
/// library is touched.
struct ConfiguredLibrary {
  let surroundings: Surroundings
  let plan: StagePlan
  let found: LibraryFolder

  /// What is left of a locked library without its lock.
  init(_ locked: LockedLibrary) {
    surroundings = locked.surroundings
    plan = locked.plan
    found = locked.found
  }

  /// Validates the configuration and finds the library.
  ///
  /// - Parameter makesLibrary: whether a missing library is made.
  init(_ context: Context, makesLibrary: Bool) throws {
    surroundings = try Surroundings(context)
    let configuration = surroundings.configuration
    plan = try StagePlan(
      configuration, finder: PluginFinder(configured: configuration.plugins),
      recorded: surroundings.recordedStages)
    try surroundings.checkCatalogFolder()
    found =
      makesLibrary
      ? try LibraryFolder.openOrMake(surroundings.layout, configuration: configuration.file)
      : try LibraryFolder.open(surroundings.layout)
    try surroundings.checkFileSystem()
  }
}
