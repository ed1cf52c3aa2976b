import Files
import PipelineModel
import PluginTesting

/// Tries the file system operations that ingest relies on.
struct FileSystemCheck: DoctorCheck {
  static let trials: [any FileSystemTrial] = [
    SyncTrial(), RenameTrial(), ReflinkTrial(), HardLinkTrial(), LeaseTrial(),
  ]

  func run(_ site: DoctorSite) -> [Finding] { site.folders.map { kind($0, site) } + tried(site) }

  private func kind(_ path: BytePath, _ site: DoctorSite) -> Finding {
    let holdsCatalog = path == site.folders.last
    let name = path == site.library ? "file system" : "file system of the catalog"
    do throws(FileError) {
      let folder = try DoctorSite.openNearest(path)
      guard let network = try folder.fileSystem().networkName else {
        return Finding(name, .ok, "“\(path.printable)” is on a local file system.")
      }
      let detail = "“\(path.printable)” is on \(network)"
      guard holdsCatalog else {
        return Finding(name, .ok, "\(detail), and the catalog is elsewhere.")
      }
      return Finding(
        name, .failed, "\(detail), where SQLite's locks can't be trusted.",
        advice: "Set \"catalog\" in the configuration to a folder on a local disk.")
    } catch {
      return Finding(name, .unknown, error.message)
    }
  }

  private func tried(_ site: DoctorSite) -> [Finding] {
    do throws(FileError) {
      let folder = try Descriptor.openFolder(try site.beside.get().path)
      return Self.trials.map { finding($0, folder) }
    } catch {
      return Self.trials.map { trial in
        Finding(
          trial.name, .unknown, "It can't be tried next to the library. \(error.message)",
          advice: "Run `pipeline doctor` in a writable folder on that file system, "
            + "without a configuration.")
      }
    }
  }

  private func finding(_ trial: any FileSystemTrial, _ folder: Descriptor) -> Finding {
    do throws(FileError) {
      return try trial.run(in: folder)
    } catch {
      return Finding(
        trial.name, .failed, error.message,
        advice: "A library needs a file system that can do this: use another one.")
    }
  }
}
