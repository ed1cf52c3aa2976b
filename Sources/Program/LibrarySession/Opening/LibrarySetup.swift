import Catalog
package import Configuration
package import Engine
import Files
package import Ingest
package import PipelineModel
import PluginHost
package import Records

/// Where to look for the configuration.
package struct ConfigurationSearch: Sendable {
  /// The file that the user named; `nil` to look in the standard places.
  package let file: BytePath?
  package let environment: [String: BytePath]
  package let workingFolder: BytePath

  package init(
    file: BytePath? = nil, environment: [String: BytePath] = [:], workingFolder: BytePath
  ) {
    self.file = file
    self.environment = environment
    self.workingFolder = workingFolder
  }
}

/// A configuration and the library layout that results from it.
package struct LibrarySetup: Sendable {
  package let configuration: PipelineConfiguration
  package let layout: LibraryLayout

  /// Finds and loads the configuration.
  ///
  /// - Throws: `ConfigurationErrors`, `SessionError` of code `noConfiguration`.
  package init(_ search: ConfigurationSearch) throws {
    let found = ConfigurationFile.locate(
      explicit: search.file, environment: search.environment, workingFolder: search.workingFolder)
    guard let found else {
      let places = ConfigurationFile.places(
        environment: search.environment, workingFolder: search.workingFolder)
      throw SessionError(
        .noConfiguration,
        "There is no configuration: none of \(places.map(\.printable).joined(separator: ", ")) "
          + "exists. `pipeline init` makes one.")
    }
    configuration = try PipelineConfiguration.load(file: found)
    layout = LibraryLayout(
      root: configuration.library, catalogFolder: configuration.catalog?.folder,
      database: configuration.catalog?.database, bucket: configuration.originals,
      renditionBucket: configuration.renditions,
      originalsCache: configuration.originalsCache.bytes,
      machine: configuration.node.joins ? configuration.node.name ?? OwnProcess.host : nil)
    try checkDatabase()
    // What others see of this process.
    OwnProcess.node = configuration.node.name ?? OwnProcess.host
  }

  /// The library's folder, and the catalog's if it is another one.
  package var folders: [BytePath] {
    layout.catalogFolder == layout.root ? [layout.root] : [layout.root, layout.catalogFolder]
  }

  /// The folders of the sources as they are recorded.
  package var recordedSources: [BytePath] { configuration.sources.map { layout.recorded($0) } }

  /// Loads the configuration if there is one.
  ///
  /// - Throws: `ConfigurationErrors`.
  package static func ifPresent(_ search: ConfigurationSearch) throws -> LibrarySetup? {
    do {
      return try LibrarySetup(search)
    } catch let error as SessionError where error.code == .noConfiguration {
      return nil
    }
  }

  /// Throws if libpq is there and can't read where the database is.
  private func checkDatabase() throws(ConfigurationErrors) {
    guard let fault = layout.database.flatMap({ CatalogServer.fault(in: $0) }) else { return }
    throw ConfigurationErrors(
      ConfigurationError(
        code: .badValue,
        message: "“catalog” is no address that PostgreSQL's library can read: \(fault)",
        pointer: "/catalog",
        file: configuration.file))
  }

  /// Throws if the configured catalog folder does not exist; call it before making anything.
  func checkCatalogFolder() throws(ConfigurationErrors) {
    guard let folder = configuration.catalog?.folder else { return }
    do throws(FileError) {
      _ = try Descriptor.openFolder(folder)
    } catch {
      throw ConfigurationErrors(
        ConfigurationError(
          code: .badPath,
          message: "\(error.message) “catalog” must name an existing folder: make it, on a "
            + "local disk and accessible to its owner only.", pointer: "/catalog",
          file: configuration.file))
    }
  }

  /// Throws if the catalog would be on a file system without reliable locks.
  ///
  /// - Parameter layout: where it would be; by default where the configuration says.
  package func checkFileSystem(of layout: LibraryLayout? = nil) throws {
    let layout = layout ?? self.layout
    let folder = try Descriptor.openFolder(layout.catalogFolder)
    guard let network = try folder.fileSystem().networkName else { return }
    let place = "“\(layout.catalogFolder.printable)” is on \(network), where "
    guard layout.database == nil else {
      throw IngestError(
        .notALibrary,
        place
          + "the library's lock can't be trusted: put the library on a local disk; its originals may "
          + "be in a bucket.", path: layout.catalogFolder)
    }
    throw IngestError(
      .notALibrary,
      place + "SQLite's locks can't be "
        + "trusted: set \"catalog\" in \(configuration.file.printable) to a folder on a local disk.",
      path: layout.catalogFolder)
  }

  /// Plans the stages, with the plugins that are found now.
  package func plan() throws -> StagePlan {
    try StagePlan(
      configuration, finder: PluginFinder(configured: configuration.plugins),
      recorded: recordedStages)
  }

  /// The same for work beside the process that has the library's lock, perhaps without the library's folder.
  package func planBeside() throws -> StagePlan {
    try StagePlan(
      configuration, finder: PluginFinder(configured: configuration.plugins)
    ) { try Catalog.stages(of: layout.catalogPlace, libraryID: nil) }
  }

  /// Whose catalog is expected in a database; `nil` for a file, and without a library.
  private var recordedOwner: String? {
    // Why a library can't be opened is told by what works on it.
    layout.database == nil ? nil : (try? LibraryFolder.open(layout))?.marker.library
  }

  /// The stages recorded in the library; none if there is no library yet.
  private func recordedStages() throws -> [StageDefinition] {
    let library = recordedOwner
    if layout.database != nil, library == nil { return [] }
    do throws(CatalogError) {
      return try Catalog.stages(of: layout.catalogPlace, libraryID: library)
    } catch let error where error.code == .missing {
      return []
    }
  }

  /// Why there is no space for stages' output, as a sentence; `nil` while the reserve is free.
  func shortage() -> String? {
    let reserve = reserve()
    for folder in folders {
      // A disk that can't be queried is queried again with the next jobs.
      guard let free = try? Descriptor.openFolder(folder).fileSystem().freeBytes, free < reserve
      else { continue }
      return "Only \(ByteSize(bytes: free)) are free on the file system of "
        + "“\(folder.printable)”, and \(ByteSize(bytes: reserve)) are kept in reserve: make room, "
        + "or set a smaller \"reserve\"."
    }
    return nil
  }

  /// The space that copies and stages leave free, in bytes.
  func reserve() -> Int {
    // If the total size is unknown, use the larger bound.
    Self.reserve(
      configuration,
      diskSize: (try? Descriptor.openFolder(layout.root).fileSystem().totalBytes) ?? .max)
  }

  /// The space to leave free on a disk of some size, both in bytes.
  package static func reserve(
    _ configuration: PipelineConfiguration?, diskSize: @autoclosure () -> Int
  ) -> Int {
    configuration?.reserve?.bytes ?? min(256 << 20, diskSize() / 100)
  }
}

extension LibrarySetup {
  /// Combines what is known of a path with what is there now.
  ///
  /// - Parameters:
  ///   - path: an absolute path with symbolic links in its folders resolved, unless it is known.
  ///   - typed: the same path as it was typed: a source's configured path may contain links.
  ///   - known: the path's record in the catalog.
  package func explanation(
    of path: BytePath, typed: BytePath? = nil, known: Sighting? = nil
  ) -> PathExplanation {
    let home = typed.flatMap(home) ?? home(of: path)
    let found = PathOnDisk(
      home.map { $0.source.path.appending($0.path) } ?? path, home: home,
      // The configured catalog folder may contain other files, but no run scans them.
      library: folders, longest: layout.database.map { _ in PathLimit.longestPath })
    return PathExplanation(known: known, found: found, source: home?.source)
  }

  /// A path of this machine as it is recorded: below the source that contains it.
  package func recorded(_ path: BytePath) -> BytePath {
    guard let home = home(of: path), home.source.shared != nil else { return layout.recorded(path) }
    return layout.recorded(home.source).appending(home.path)
  }

  /// The folder on this machine that is recorded so; what is recorded of another machine stays as it is.
  package func local(_ recorded: BytePath) -> BytePath {
    let source = configuration.sources.first { layout.recorded($0) == recorded }
    return source?.path ?? layout.local(recorded)
  }

  /// The configured source that contains a path.
  private func home(of path: BytePath) -> (source: SourceConfiguration, path: BytePath)? {
    configuration.sources.lazy
      .compactMap { source in path.relative(to: source.path).map { (source, $0) } }.first
  }
}
