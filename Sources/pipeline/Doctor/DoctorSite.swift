import Configuration
import Files
import Ingest
import PipelineModel
import PluginHost
import PluginTesting

/// What `doctor` checks: this machine and the location of a library.
struct DoctorSite {
  /// `nil` without a configuration.
  let setup: LibrarySetup?
  /// The library; without a configuration, where `init` would make it.
  let library: BytePath
  let finder: PluginFinder
  /// A folder next to the library, on its file system, or why there is none.
  let beside: Result<CheckFolder, FileError>
  /// A folder for workers: `beside` if possible.
  let work: CheckFolder

  /// Looks for a configuration and makes the folders, which are removed with this value.
  ///
  /// - Throws: `ConfigurationErrors` if it is invalid, `FileError` if no folder can be made.
  init(_ context: Context) throws {
    setup = try Self.setup(context)
    let configuration = setup?.configuration
    library = configuration?.library ?? context.workingFolder.appending("library")
    finder = PluginFinder(configured: configuration?.plugins ?? [])
    beside = Self.folder(beside: library)
    // The checks that use `beside` report why it is missing.
    work = try (try? beside.get()) ?? CheckFolder()
  }

  var configuration: PipelineConfiguration? { setup?.configuration }

  /// The library's folder, and the catalog's if it is a different one.
  var folders: [BytePath] {
    guard let catalog = setup?.layout.catalogFolder, catalog != library else {
      return [library]
    }
    return [library, catalog]
  }

  /// The files no plugin may read although they are next to it.
  var secrets: PluginSecrets { PluginSecrets(configuration) }

  /// Opens a folder or its nearest existing ancestor.
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

  private static func setup(_ context: Context) throws -> LibrarySetup? {
    do {
      return try LibrarySetup(context)
    } catch is UsageError {
      return nil
    }
  }

  private static func folder(beside library: BytePath) -> Result<CheckFolder, FileError> {
    do throws(FileError) {
      let parent = try openNearest(library.parent)
      guard try openNearest(library).status().device == parent.status().device else {
        throw FileError(
          .crossDevice, "“\(library.printable)” is a separate file system.", path: library)
      }
      return .success(try CheckFolder(in: parent.path, named: ".pipeline-doctor-"))
    } catch {
      return .failure(error)
    }
  }
}
