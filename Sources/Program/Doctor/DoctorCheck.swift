import Configuration
import Files
import Glibc
import Ingest
package import LibrarySession
import PipelineModel
import PluginHost
import PluginTesting

/// A check of one aspect of the machine.
package protocol DoctorCheck: Sendable {
  /// Returns the findings: at least one, unless there is nothing to check.
  func run(_ site: DoctorSite) -> [Finding]
}

/// A check with one finding.
protocol SingleCheck: DoctorCheck {
  func finding(_ site: DoctorSite) -> Finding
}

extension SingleCheck {
  package func run(_ site: DoctorSite) -> [Finding] { [finding(site)] }
}

/// All checks of `doctor`, prerequisites first.
package let doctorChecks: [any DoctorCheck] = [
  KernelCheck(), SandboxCheck(), WorkerCheck(), ForkCheck(), ControlGroupCheck(),
  InotifyCheck(), LibraryCheck(), DatabaseCheck(), BucketCheck(), FileSystemCheck(), SpaceCheck(),
  SourcesCheck(),
  ServeCheck(),
  PluginsCheck(),
  LoadersCheck(),
]

/// The result of one check.
package struct Finding: Sendable {
  package enum State: String, Sendable {
    /// As it should be, or good enough with the restriction in `detail`.
    case ok
    /// The program works, but not as well as it could.
    case warning
    /// Something that users rely on does not work here.
    case failed
    /// The check could not be made.
    case unknown
  }

  /// A stable name of one or two words.
  package let name: String
  package let state: State
  /// What was found, as a sentence.
  package let detail: String
  /// What to do, as a sentence.
  package let advice: String?

  init(_ name: String, _ state: State, _ detail: String, advice: String? = nil) {
    self.name = name
    self.state = state
    self.detail = detail
    self.advice = advice
  }
}

/// What `doctor` checks: this machine and the location of a library.
package struct DoctorSite {
  let search: ConfigurationSearch
  /// `nil` without a configuration.
  let setup: LibrarySetup?
  /// The library; without a configuration, where `init` would make it.
  let library: BytePath
  /// The identity of the library that the folder is for `pipeline work` on, if it is not the library itself.
  let workedLibrary: String?
  let finder: PluginFinder
  /// A folder next to the library, on its file system, or why there is none.
  let beside: Result<CheckFolder, FileError>
  /// A folder for workers: `beside` if possible.
  let work: CheckFolder

  /// Looks for a configuration and makes the folders, which are removed with this value.
  ///
  /// - Throws: `ConfigurationErrors` if it is invalid, `FileError` if no folder can be made.
  package init(_ search: ConfigurationSearch) throws {
    self.search = search
    setup = try LibrarySetup.ifPresent(search)
    let configuration = setup?.configuration
    library = configuration?.library ?? search.workingFolder.appending("library")
    workedLibrary = setup.flatMap { try? Workplace.library(of: $0.layout) }
    finder = PluginFinder(configured: configuration?.plugins ?? [])
    beside = Self.folder(beside: library)
    // The checks that use `beside` report why it is missing.
    work = try (try? beside.get()) ?? CheckFolder()
  }

  /// The identity of the library that the folder is, or is for work on; `nil` if it is neither.
  var knownLibrary: String? {
    let found = setup.flatMap { try? LibraryFolder.open($0.layout.withoutBucket) }
    return found?.marker.library ?? workedLibrary
  }

  /// Whether the first run would make a library.
  var isWithoutLibrary: Bool {
    configuration?.node.joins == false && !library.allows(F_OK)
  }

  /// Whether `pipeline work` is all that this machine is for.
  var isWorkplace: Bool { workedLibrary != nil && configuration?.node.joins != true }

  var configuration: PipelineConfiguration? { setup?.configuration }

  /// The library's folder, and the catalog's if it is a different one.
  var folders: [BytePath] { setup?.folders ?? [library] }

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
