import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel

/// Checks whether the configured library can be changed.
struct LibraryCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard site.configuration != nil else { return [] }
    let worked = site.setup.flatMap { try? Workplace.library(of: $0.layout) }
    return site.folders.map { path in
      let name = path == site.library ? "library" : "catalog"
      do throws(FileError) {
        return try finding(name, path, worked)
      } catch {
        return Finding(name, .failed, error.message, advice: "Correct the configuration.")
      }
    }
  }

  /// - Parameter worked: the library that the folder is for work on, if it is not one itself.
  private func finding(
    _ name: String, _ path: BytePath, _ worked: String?
  ) throws(FileError) -> Finding {
    if let mount = try MountTable().missingMount(above: path) {
      return Finding(
        name, .failed,
        "/etc/fstab mounts a disk at “\(mount.printable)”, but nothing is mounted there.",
        advice: "Mount it; until then nothing is done with “\(path.printable)”.")
    }
    let nearest = try DoctorSite.openNearest(path)
    guard nearest.path.isWritable else {
      return Finding(
        name, .failed, "“\(nearest.path.printable)” can't be written by this user.",
        advice: "Run the program as the library's owner, or make the file system "
          + "writable. Verbs that only read work anyway.")
    }
    if nearest.path == path, let finding = shared(name, nearest) { return finding }
    if let worked {
      return Finding(
        name, .ok,
        "“\(path.printable)” can be written, and is for `pipeline work` on the library \(worked).")
    }
    return Finding(
      name, .ok,
      nearest.path == path
        ? "“\(path.printable)” can be written."
        : "“\(path.printable)” does not exist yet; the first run can make it.")
  }

  /// The finding for a folder that others own or may write; no run accepts it.
  private func shared(_ name: String, _ folder: Descriptor) -> Finding? {
    do throws(FileError) {
      try folder.requireOwn("The \(name)")
      return nil
    } catch {
      return Finding(name, .failed, error.message, advice: "Verbs that only read work anyway.")
    }
  }
}

extension BytePath {
  /// Whether this process probably may write there. Source: access(2).
  fileprivate var isWritable: Bool {
    access(bytes.map { CChar(bitPattern: $0) } + [0], W_OK) == 0
  }
}

/// Checks the free space.
struct SpaceCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] { site.folders.map { finding($0, site) } }

  private func finding(_ path: BytePath, _ site: DoctorSite) -> Finding {
    let name = path == site.library ? "free space" : "free space of the catalog"
    do throws(FileError) {
      let facts = try DoctorSite.openNearest(path).fileSystem()
      let reserve = LibrarySetup.reserve(site.configuration, diskSize: facts.totalBytes)
      guard facts.freeBytes != .max else {
        return Finding(name, .ok, "The file system reports no limit.")
      }
      let detail =
        "\(ByteSize(bytes: facts.freeBytes)) free for “\(path.printable)”, of which "
        + "\(ByteSize(bytes: reserve)) are kept in reserve."
      guard facts.freeBytes < reserve else { return Finding(name, .ok, detail) }
      return Finding(
        name, .failed, "\(detail) No more files are imported.",
        advice: "Make room, or set a smaller \"reserve\".")
    } catch {
      return Finding(name, .unknown, error.message)
    }
  }
}
