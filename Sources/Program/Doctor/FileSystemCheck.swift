import Configuration
import Files
import Glibc
import PipelineModel
import PluginTesting

/// Tries the file system operations that ingest relies on.
struct FileSystemCheck: DoctorCheck {
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
      if site.isWorkplace {
        return Finding(
          name, .warning,
          "\(detail), where copies of originals cost more time, and processes may not notice each other.",
          advice: "Set \"library\" to a folder on a local disk of this machine.")
      }
      guard site.configuration?.catalog?.database == nil else {
        return Finding(
          name, .failed, "\(detail), where the library's lock can't be trusted.",
          advice: "Put the library on a local disk; its originals may be in a bucket.")
      }
      return Finding(
        name, .failed, "\(detail), where SQLite's locks can't be trusted.",
        advice: "Set \"catalog\" in the configuration to a folder on a local disk.")
    } catch {
      return Finding(name, .unknown, error.message)
    }
  }

  private func tried(_ site: DoctorSite) -> [Finding] {
    let trials = site.isWorkplace ? FileSystemTrial.ofWork : FileSystemTrial.allCases
    do throws(FileError) {
      let folder = try Descriptor.openFolder(try site.beside.get().path)
      return trials.map { finding($0, folder, site) }
    } catch {
      return trials.map { trial in
        Finding(
          trial.rawValue, .unknown,
          "It can't be tried next to “\(site.library.printable)”. \(error.message)",
          advice: "Run `pipeline doctor` in a writable folder on that file system, "
            + "without a configuration.")
      }
    }
  }

  private func finding(
    _ trial: FileSystemTrial, _ folder: Descriptor, _ site: DoctorSite
  ) -> Finding {
    do throws(FileError) {
      return try trial.run(in: folder)
    } catch {
      return Finding(
        trial.rawValue, .failed, error.message,
        advice:
          "\(site.isWorkplace ? "Work" : "A library") needs a file system that can do this: use another one."
      )
    }
  }
}

/// A trial of one operation on the library's file system.
enum FileSystemTrial: String, CaseIterable {
  /// Making a file and its name durable. Source: fsync(2).
  case sync = "fsync"
  /// Renaming without replacing an existing file. Source: renameat2(2).
  case rename
  /// Copies that share their blocks. Source: ioctl_ficlone(2).
  case reflink
  /// Hard links, through which workers open originals. Source: link(2).
  case hardLinks = "hard links"
  /// Read leases, which reveal whether a file is open for writing. Source: fcntl(2), “Leases”.
  case leases = "read leases"

  /// What `pipeline work` relies on, which takes no files from anywhere.
  static let ofWork: [FileSystemTrial] = [.sync, .rename, .hardLinks]

  /// Tries the operation in a folder that nothing else uses.
  ///
  /// - Throws: `FileError` if an operation that the program requires fails.
  func run(in folder: Descriptor) throws(FileError) -> Finding {
    switch self {
    case .sync: try trySync(in: folder)
    case .rename: try tryRename(in: folder)
    case .reflink: try tryReflink(in: folder)
    case .hardLinks: try tryHardLinks(in: folder)
    case .leases: try tryLeases(in: folder)
    }
  }

  private func found(_ state: Finding.State, _ detail: String, advice: String? = nil) -> Finding {
    Finding(rawValue, state, detail, advice: advice)
  }

  private func trySync(in folder: Descriptor) throws(FileError) -> Finding {
    let file = try folder.make("synced", String(repeating: "durable\n", count: 1024))
    let start = ContinuousClock.now
    try file.sync()
    try folder.sync()
    let time = ContinuousClock.now - start
    return found(.ok, "A file and its name were made durable in \(time.rounded).")
  }

  private func tryRename(in folder: Descriptor) throws(FileError) -> Finding {
    try folder.make("old", "old")
    try folder.make("taken", "taken")
    guard try isRefused(in: folder), try folder.readFile("taken") == Array("taken".utf8) else {
      throw FileError(
        .other, "A file was renamed over another one in spite of RENAME_NOREPLACE.",
        path: folder.path)
    }
    try folder.rename("old", to: folder, as: "new")
    return found(.ok, "A rename never replaces another file (RENAME_NOREPLACE).")
  }

  private func isRefused(in folder: Descriptor) throws(FileError) -> Bool {
    do throws(FileError) {
      try folder.rename("old", to: folder, as: "taken")
      return false
    } catch {
      if error.code == .exists { return true }
      throw error
    }
  }

  private func tryReflink(in folder: Descriptor) throws(FileError) -> Finding {
    let source = try folder.make("source", String(repeating: "shared\n", count: 1024))
    let copy = try folder.make("copy", "")
    guard try copy.clone(from: source) else {
      return found(.ok, "This file system has none: what can't be renamed is copied byte by byte.")
    }
    return found(.ok, "Copies share blocks with the original.")
  }

  private func tryHardLinks(in folder: Descriptor) throws(FileError) -> Finding {
    let file = try folder.make("first", "linked")
    do throws(FileError) {
      try folder.link(file.path, as: "second")
    } catch {
      return found(.ok, "\(error.message) So each worker gets a copy of each original it works on.")
    }
    guard try folder.status(of: "second").links == 2 else {
      return found(
        .warning, "The link count of a file with two names is not 2.",
        advice: "Files with other hard links may be moved by rename: set \"take\" of "
          + "the sources to \"copy\".")
    }
    return found(.ok, "Workers get originals without copying them.")
  }

  private func tryLeases(in folder: Descriptor) throws(FileError) -> Finding {
    let writer = try folder.make("written", "written")
    let lease = try withExtendedLifetime(writer) { () throws(FileError) in
      try Descriptor.open("written", in: folder, flags: O_RDONLY).acquireLease()
    }
    guard lease == .refused else {
      return found(
        .warning,
        "Whether a file is open for writing can't be detected here: leases are "
          + "\(lease == .granted ? "granted all the same" : "not available").",
        advice: "Files in such a source count as complete once they are quiet: set "
          + "\"settle\" to more than the longest pause of the programs that write them.")
    }
    try folder.make("quiet", "quiet")
    let reader = try Descriptor.open("quiet", in: folder, flags: O_RDONLY)
    guard reader.acquireLease() == .granted, reader.holdsLease else {
      return found(
        .warning, "A lease is refused although nobody has the file open for writing.",
        advice: "Files are copied rather than renamed, which takes longer but is as safe.")
    }
    return found(.ok, "Files open for writing are detected.")
  }
}

extension Descriptor {
  @discardableResult
  fileprivate func make(_ name: BytePath, _ text: String) throws(FileError) -> Descriptor {
    let file = try Descriptor.open(
      name, in: self, flags: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(Array(text.utf8))
    return file
  }
}
