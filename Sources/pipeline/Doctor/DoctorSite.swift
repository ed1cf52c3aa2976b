import Configuration
import Files
import Ingest
import PipelineModel
import PluginHost
import PluginTesting

/// What is looked at: this machine, and the place of a library.
struct DoctorSite {
  /// What the configuration says; `nil` without one.
  let surroundings: Surroundings?
  /// The library; without a configuration where `init` would make it.
  let library: BytePath
  /// Where plugins are looked for.
  let finder: PluginFinder
  /// A folder beside the library and on its file system, or why there is none.
  let beside: Result<CheckFolder, FileError>
  /// A folder for workers: the same if possible.
  let work: CheckFolder

  /// Looks for a configuration and makes the folders, which go with this value.
  ///
  /// - Throws: `ConfigurationErrors` for one that is wrong, `FileError` if no folder can be made.
  init(_ context: Context) throws {
    surroundings = try Self.surroundings(context)
    let configuration = surroundings?.configuration
    library = configuration?.library ?? context.workingFolder.appending("library")
    finder = PluginFinder(configured: configuration?.plugins ?? [])
    beside = Self.folder(beside: library)
    // Why there is none beside the library is told by who looks at `beside`.
    work = try (try? beside.get()) ?? CheckFolder()
  }

  /// The stages' configuration.
  var configuration: PipelineConfiguration? { surroundings?.configuration }

  /// The folders whose file systems hold what is kept: of the library and of the catalog.
  var folders: [BytePath] {
    guard let catalog = surroundings?.layout.catalogFolder, catalog != library else {
      return [library]
    }
    return [library, catalog]
  }

  /// What no plugin may read by being beside it.
  var secrets: PluginSecrets { PluginSecrets(configuration) }

  /// Opens a folder, or the nearest one above it that is there.
  static func openNearest(_ path: BytePath) throws(FileError) -> Descriptor {
    var path = path
    while true {
      do throws(FileError) {
        return try Descriptor.openFolder(path)
      } catch {
        guard error.code == .notFound, path != path.parent else { throw error }
        path = path.parent
      }
    }
  }

  private static func surroundings(_ context: Context) throws -> Surroundings? {
    do {
      return try Surroundings(context)
    } catch is UsageError {
      return nil
    }
  }

  private static func folder(beside library: BytePath) -> Result<CheckFolder, FileError> {
    do throws(FileError) {
      let parent = try openNearest(library.parent)
      guard try openNearest(library).status().device == parent.status().device else {
        throw FileError(
          .crossDevice, "“\(library.printable)” is a file system of its own.", path: library)
      }
      return .success(try CheckFolder(in: parent.path, named: ".pipeline-doctor-"))
    } catch {
      return .failure(error)
    }
  }
}
