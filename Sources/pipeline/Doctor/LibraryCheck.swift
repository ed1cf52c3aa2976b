import Files
import Glibc
import PipelineModel

/// Whether the configured library can be worked on.
struct LibraryCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard site.configuration != nil else { return [] }
    return site.folders.map { path in
      let name = path == site.library ? "library" : "catalog"
      do throws(FileError) {
        return try finding(name, path)
      } catch {
        return Finding(name, .failed, error.message, advice: "Correct the configuration.")
      }
    }
  }

  private func finding(_ name: String, _ path: BytePath) throws(FileError) -> Finding {
    if let mount = try MountTable().missingMount(above: path) {
      return Finding(
        name, .failed,
        "/etc/fstab mounts a disk at “\(mount.printable)”, and nothing is mounted there.",
        advice: "Mount it: nothing is done with “\(path.printable)” before.")
    }
    let nearest = try DoctorSite.openNearest(path)
    guard nearest.path.isWritable else {
      return Finding(
        name, .failed, "“\(nearest.path.printable)” can't be written by this user.",
        advice: "Run the program as the user to whom the library belongs, or make the file system "
          + "writable. Verbs that only read work all the same.")
    }
    if nearest.path == path, let finding = shared(name, nearest) { return finding }
    return Finding(
      name, .ok,
      nearest.path == path
        ? "“\(path.printable)” can be written."
        : "“\(path.printable)” is not there yet, and can be made by the first run.")
  }

  /// What is said of a folder that is somebody else's, or that others may write; no run works there.
  private func shared(_ name: String, _ folder: Descriptor) -> Finding? {
    do throws(FileError) {
      try folder.requireOwn("The \(name)")
      return nil
    } catch {
      return Finding(
        name, .failed, error.message, advice: "Verbs that only read work all the same.")
    }
  }
}

extension BytePath {
  /// Whether this process may write there, as far as can be told without trying. Source: access(2).
  fileprivate var isWritable: Bool {
    access(bytes.map { CChar(bitPattern: $0) } + [0], W_OK) == 0
  }
}
