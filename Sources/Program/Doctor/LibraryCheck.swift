import Configuration
import Files
import Glibc
import Ingest
import LibrarySession
import PipelineModel

/// Checks whether the configured library can be changed.
struct LibraryCheck: DoctorCheck {
  func run(_ site: DoctorSite) -> [Finding] {
    guard site.configuration != nil else { return [] }
    return site.folders.map { path in
      let name = path == site.library ? "library" : "catalog"
      do throws(FileError) {
        return try finding(name, path, site)
      } catch {
        return Finding(name, .failed, error.message, advice: "Correct the configuration.")
      }
    }
  }

  private func finding(
    _ name: String, _ path: BytePath, _ site: DoctorSite
  ) throws(FileError) -> Finding {
    if let mount = try MountTable().missingMount(above: path) {
      return Finding(
        name, .failed,
        "/etc/fstab mounts a disk at “\(mount.printable)”, but nothing is mounted there.",
        advice: "Mount it; until then nothing is done with “\(path.printable)”.")
    }
    let nearest = try DoctorSite.openNearest(path)
    guard nearest.path.allows(W_OK) else {
      return Finding(
        name, .failed, "“\(nearest.path.printable)” can't be written by this user.",
        advice: site.isWorkplace
          ? "Run `pipeline work` as the folder's owner, or make the file system writable."
          : "Run the program as the library's owner, or make the file system "
            + "writable. Verbs that only read work anyway.")
    }
    if nearest.path == path, let finding = shared(name, nearest, site) { return finding }
    if let worked = site.workedLibrary {
      return Finding(
        name, .ok,
        "“\(path.printable)” can be written, and is for `pipeline work` on the library \(worked).")
    }
    guard nearest.path == path else { return try missing(name, path, nearest, site) }
    if path == site.library, let fault = try fault(of: nearest, site) {
      return Finding(
        name, .failed, fault, advice: "Until that is corrected, nothing is done with it.")
    }
    return Finding(name, .ok, "“\(path.printable)” can be written.")
  }

  /// Why the library's folder can't be used.
  private func fault(of folder: Descriptor, _ site: DoctorSite) throws(FileError) -> String? {
    guard let setup = site.setup else { return nil }
    // Without a library in it, other machines may work there.
    if mayBeWorkplace(site), try folder.statusIfThere(of: LibraryLayout.marker) == nil {
      return nil
    }
    do {
      _ = try LibraryFolder.open(setup.layout)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// The finding for a folder that does not exist.
  private func missing(
    _ name: String, _ path: BytePath, _ nearest: Descriptor, _ site: DoctorSite
  ) throws(FileError) -> Finding {
    guard path == site.library else {
      return Finding(
        name, .failed, "“\(path.printable)” does not exist.",
        advice: "If it is on a disk, mount that; otherwise make the folder.")
    }
    guard nearest.path == path.parent else {
      return Finding(
        name, .failed,
        "The folder “\(path.parent.printable)” of “\(path.printable)” does not exist.",
        advice: "If it is on a disk, mount that; otherwise make the folder.")
    }
    // What can't be reached is told by its own check.
    if let setup = site.setup, let owner = try? PlaceOwner(of: setup.layout) {
      let what = "“\(path.printable)” does not exist. \(owner.sentence)"
      if setup.configuration.node.joins { return Finding(name, .ok, what) }
      let others =
        mayBeWorkplace(site)
        ? " A machine that only works for that library makes it with `pipeline work`." : ""
      return Finding(
        name, .warning, what,
        advice:
          "If the library should be there, mount its disk, or put it back before any `pipeline run`.\(others)"
      )
    }
    let absence = "“\(path.printable)” does not exist yet"
    do throws(FileError) {
      // On a machine that joins, it is a folder for work.
      if let setup = site.setup, !setup.configuration.node.joins {
        try LibraryFolder.requireDisk(
          of: setup.configuration.file, for: setup.layout, in: nearest)
      }
    } catch let error where error.code == .crossDevice {
      return mayBeWorkplace(site)
        ? Finding(
          name, .warning,
          "\(absence). On a machine that only works, `pipeline work` makes it; on the one that takes the files, no run does.",
          advice: error.message)
        : Finding(name, .failed, "\(absence), and no run makes it.", advice: error.message)
    }
    let maker = mayBeWorkplace(site) ? "the first run, or `pipeline work`," : "the first run"
    return Finding(name, .ok, "\(absence); \(maker) can make it.")
  }

  /// Whether the library can be worked on from other folders than its own.
  private func mayBeWorkplace(_ site: DoctorSite) -> Bool {
    site.configuration?.catalog?.database != nil && site.configuration?.originals != nil
  }

  /// The finding for a folder that others own or may write; no run accepts it, and no work.
  private func shared(_ name: String, _ folder: Descriptor, _ site: DoctorSite) -> Finding? {
    do throws(FileError) {
      try folder.requireOwn(site.isWorkplace ? "The folder" : "The \(name)")
      return nil
    } catch {
      return Finding(
        name, .failed, error.message,
        advice: site.isWorkplace
          ? "Until then `pipeline work` does nothing there." : "Verbs that only read work anyway.")
    }
  }
}

extension BytePath {
  /// Whether this process probably may do this there, such as `W_OK`. Source: access(2).
  func allows(_ mode: Int32) -> Bool {
    access(bytes.map { CChar(bitPattern: $0) } + [0], mode) == 0
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
        name, .failed,
        "\(detail) No more \(site.isWorkplace ? "jobs are done" : "files are imported").",
        advice: "Make room, or set a smaller \"reserve\".")
    } catch {
      return Finding(name, .unknown, error.message)
    }
  }
}
