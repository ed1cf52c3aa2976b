internal import CSandbox
import Files
import Glibc
import PipelineModel

/// Every place that a policy allows, with the access allowed there.
///
/// Landlock gets a rule for each, and a private root shows only these. None is kept open, because a
/// worker has few descriptors.
struct AllowedPaths {
  /// A file, or a folder with everything below it.
  struct Place {
    let access: Landlock.Access
    let path: BytePath
    let status: FileStatus
  }

  private(set) var all: [Place] = []
  private let landlock: Landlock?

  /// Collects what a policy allows and what every program needs.
  ///
  /// - Parameters:
  ///   - landlock: receives a rule for each place; `nil` if the kernel has none.
  ///   - reading: further readable places, opened with O_PATH.
  ///   - executing: further executable places, opened with O_PATH.
  /// - Throws: `SandboxError` of code `path` if a path of the policy is missing.
  init(
    _ policy: SandboxPolicy, _ landlock: Landlock?, reading: [Descriptor], executing: [Descriptor]
  ) throws(SandboxError) {
    self.landlock = landlock
    for path in SystemPaths.libraries + SystemPaths.settings + SystemPaths.devices {
      try addIfThere(.read, path)
    }
    try addIfThere([.readFile, .writeFile], "/dev/null")
    if policy.network {
      for path in SystemPaths.network { try addIfThere(.read, path) }
    }
    if policy.exec {
      for path in SystemPaths.programs { try addIfThere([.read, .execute], path) }
    }
    if policy.exec || !policy.execute.isEmpty {
      for path in SystemPaths.loaders { try addIfThere([.read, .execute], path) }
    }
    for path in policy.read { try add(.read, path) }
    for path in policy.write { try add(.write, path) }
    for path in policy.execute { try add([.read, .execute], path) }
    for place in reading { try add(.read, place) }
    for place in executing { try add([.read, .execute], place) }
  }

  /// Links by which programs know individually allowed libraries, and the folders that the loader
  /// is told to search.
  var libraryLinks: [BytePath] {
    let files = all.filter {
      $0.status.kind == .regular && SystemPaths.isLibrary($0.path.lastComponent)
    }
    return Set(files.map(\.path.parent)).flatMap { SystemPaths.libraryLinks(in: $0) }
      + SystemPaths.foldersOfLoaderPath()
  }

  private mutating func add(_ access: Landlock.Access, _ path: BytePath) throws(SandboxError) {
    let place: Descriptor
    do throws(FileError) {
      place = try Self.open(path)
    } catch {
      throw Self.unreachable(path, error)
    }
    try add(access, place)
  }

  /// Skips a missing path: not every system has all of them.
  private mutating func addIfThere(
    _ access: Landlock.Access, _ path: BytePath
  ) throws(SandboxError) {
    guard let place = try? Self.open(path) else { return }
    try add(access, place)
  }

  private mutating func add(_ access: Landlock.Access, _ place: Descriptor) throws(SandboxError) {
    do throws(FileError) {
      all.append(Place(access: access, path: place.path, status: try place.status()))
    } catch {
      throw Self.unreachable(place.path, error)
    }
    try landlock?.allow(access, place, isFolder: all[all.count - 1].status.kind == .folder)
  }

  private static func open(_ path: BytePath) throws(FileError) -> Descriptor {
    let flags = Int32(pipeline_open_path)
    do throws(FileError) {
      // First as a folder: that makes autofs mount it.
      return try Descriptor.open(path, flags: flags | O_DIRECTORY)
    } catch let error where error.errno == ENOTDIR {
      return try Descriptor.open(path, flags: flags)
    }
  }

  private static func unreachable(_ path: BytePath, _ error: FileError) -> SandboxError {
    SandboxError(
      .path, "The sandbox can't give a plugin access to a path. \(error.message)", path: path,
      cause: error.errno)
  }
}
