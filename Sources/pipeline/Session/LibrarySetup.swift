import Catalog
import Configuration
import Files
import Glibc
import Ingest
import PipelineModel

/// The configuration of a command and the library layout that results from it.
struct LibrarySetup {
  let configuration: PipelineConfiguration
  let layout: LibraryLayout

  /// Finds and loads the configuration.
  ///
  /// - Throws: `ConfigurationErrors`, `UsageError` if there is none.
  init(_ context: Context) throws {
    let explicit = context.arguments.path(.config)
    let found = ConfigurationFile.locate(
      explicit: explicit, environment: context.environment, workingFolder: context.workingFolder)
    guard let found else {
      let places = ConfigurationFile.places(
        environment: context.environment, workingFolder: context.workingFolder)
      throw UsageError(
        "There is no configuration: none of \(places.map(\.printable).joined(separator: ", ")) "
          + "exists. `pipeline init` makes one.", verb: nil)
    }
    configuration = try PipelineConfiguration.load(file: found)
    layout = LibraryLayout(
      root: configuration.library, catalogFolder: configuration.catalog)
  }

  /// Throws if the configured catalog folder does not exist; call it before making anything.
  func checkCatalogFolder() throws(ConfigurationErrors) {
    guard let folder = configuration.catalog else { return }
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
  func checkFileSystem() throws(IngestError) {
    let network: String?
    do throws(FileError) {
      network = try Descriptor.openFolder(layout.catalogFolder).fileSystem().networkName
    } catch {
      throw IngestError(error)
    }
    guard let network else { return }
    throw IngestError(
      .notALibrary,
      "“\(layout.catalogFolder.printable)” is on \(network), where SQLite's locks can't be "
        + "trusted: set \"catalog\" in \(configuration.file.printable) to a folder on a local disk.",
      path: layout.catalogFolder)
  }

  /// The stages recorded in the library; none if there is no library yet.
  func recordedStages() throws -> [StageDefinition] {
    do throws(CatalogError) {
      return try Catalog.stages(of: layout.catalog)
    } catch let error where error.code == .missing {
      return []
    }
  }

  /// Why there is no space for stages' output, as a sentence; `nil` while the reserve is free.
  func shortage() -> String? {
    let reserve = reserve()
    for folder in [layout.root, layout.catalogFolder] {
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
    if let reserve = configuration.reserve { return reserve.bytes }
    // If the total size is unknown, use the larger bound.
    let total = (try? Descriptor.openFolder(layout.root).fileSystem().totalBytes) ?? .max
    return min(256 << 20, total / 100)
  }
}
