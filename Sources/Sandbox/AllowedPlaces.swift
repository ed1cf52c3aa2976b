internal import CSandbox
import Files
import Glibc
import PipelineModel

/// All that a policy lets be reached, open, with what may be done there.
///
/// Landlock gets a rule for each, and a root folder of its own shows each and nothing else.
struct AllowedPlaces {
  /// A file, or a folder with all below it.
  struct Place {
    /// What may be done there.
    let access: Landlock.Access
    /// Open as a place, whose content can't be read by it.
    let descriptor: Descriptor
  }

  private(set) var all: [Place] = []

  /// Opens what a policy allows, and what every program needs.
  ///
  /// - Parameters:
  ///   - reading: what may be read besides, open as places.
  ///   - executing: what may be executed besides.
  /// - Throws: `SandboxError` of code `path` for what the policy names and is not there.
  init(
    _ policy: SandboxPolicy, reading: [Descriptor], executing: [Descriptor]
  ) throws(SandboxError) {
    for path in SystemPaths.libraries + SystemPaths.settings + SystemPaths.devices {
      addIfThere(.read, path)
    }
    addIfThere([.readFile, .writeFile], "/dev/null")
    if policy.network {
      for path in SystemPaths.network { addIfThere(.read, path) }
    }
    if policy.exec {
      for path in SystemPaths.programs { addIfThere([.read, .execute], path) }
    }
    if policy.exec || !policy.execute.isEmpty {
      for path in SystemPaths.loaders { addIfThere([.read, .execute], path) }
    }
    for path in policy.read { try add(.read, path) }
    for path in policy.write { try add(.write, path) }
    for path in policy.execute { try add([.read, .execute], path) }
    all += reading.map { Place(access: .read, descriptor: $0) }
    all += executing.map { Place(access: [.read, .execute], descriptor: $0) }
  }

  private mutating func add(_ access: Landlock.Access, _ path: BytePath) throws(SandboxError) {
    do throws(FileError) {
      let place = try Descriptor.open(path, flags: Int32(pipeline_open_path))
      all.append(Place(access: access, descriptor: place))
    } catch {
      throw SandboxError(
        .path, "The sandbox can't let a plugin reach a path. \(error.message)", path: path,
        cause: error.errno)
    }
  }

  /// Not every system has everything.
  private mutating func addIfThere(_ access: Landlock.Access, _ path: BytePath) {
    guard let place = try? Descriptor.open(path, flags: Int32(pipeline_open_path)) else { return }
    all.append(Place(access: access, descriptor: place))
  }
}
