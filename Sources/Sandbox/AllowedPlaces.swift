internal import CSandbox
import Files
import Glibc
import PipelineModel

/// All that a policy lets be reached, with what may be done there.
///
/// Landlock gets a rule for each, and a root folder of its own shows each and nothing else. None is
/// kept open: a worker has few descriptors.
struct AllowedPlaces {
  /// A file, or a folder with all below it.
  struct Place {
    /// What may be done there.
    let access: Landlock.Access
    /// The path that it was found by.
    let path: BytePath
    /// What was found there.
    let status: FileStatus
  }

  private(set) var all: [Place] = []
  private let landlock: Landlock?

  /// Finds what a policy allows, and what every program needs.
  ///
  /// - Parameters:
  ///   - landlock: gets a rule for each; `nil` for a kernel without.
  ///   - reading: what may be read besides, open as places.
  ///   - executing: what may be executed besides.
  /// - Throws: `SandboxError` of code `path` for what the policy names and is not there.
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

  /// The links beside libraries that are allowed one by one, by which programs know them, and the
  /// folders in which the loader is told to look.
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

  /// Not every system has everything.
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
      // As a folder first, which is when autofs mounts it.
      return try Descriptor.open(path, flags: flags | O_DIRECTORY)
    } catch let error where error.errno == ENOTDIR {
      return try Descriptor.open(path, flags: flags)
    }
  }

  private static func unreachable(_ path: BytePath, _ error: FileError) -> SandboxError {
    SandboxError(
      .path, "The sandbox can't let a plugin reach a path. \(error.message)", path: path,
      cause: error.errno)
  }
}
