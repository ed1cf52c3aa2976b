import CSandbox
import Files
import Glibc
package import PipelineModel

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
    try add(access, Self.reaching(try Self.open(path)))
  }

  /// Skips a missing path: not every system has all of them.
  private mutating func addIfThere(
    _ access: Landlock.Access, _ path: BytePath
  ) throws(SandboxError) {
    guard let place = try? Self.open(path) else { return }
    try add(access, place)
  }

  private mutating func add(_ access: Landlock.Access, _ place: Descriptor) throws(SandboxError) {
    let status = try Self.reaching(try place.status())
    all.append(Place(access: access, path: place.path, status: status))
    try landlock?.allow(access, place, isFolder: status.kind == .folder)
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

  private static func reaching<Result>(
    _ operation: @autoclosure () throws(FileError) -> Result
  ) throws(SandboxError) -> Result {
    do throws(FileError) {
      return try operation()
    } catch {
      throw SandboxError(
        .path, "The sandbox can't give a plugin access to a path. \(error.message)")
    }
  }
}

/// Where Linux systems keep what every program needs.
package enum SystemPaths {
  static let libraries: [BytePath] = [
    "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/lib", "/lib32", "/lib64",
    "/usr/local/lib", "/usr/share",
  ]
  /// Files that libraries read at startup.
  static let settings: [BytePath] = [
    "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/magic", "/etc/magic.mime",
    "/sys/devices/system/cpu",
  ]
  /// Devices that only return bytes.
  static let devices: [BytePath] = ["/dev/urandom", "/dev/random"]
  /// Name resolution and certificates.
  static let network: [BytePath] = [
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/host.conf",
    "/etc/services", "/etc/protocols", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
  ]
  /// Programs, and what they start themselves.
  static let programs: [BytePath] = [
    "/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/libexec",
    "/etc/alternatives", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib",
    "/usr/share",
  ]
  /// Places that every plugin may read, or every plugin with further permissions.
  static let readable = libraries + settings + network + programs
  /// The search path for programs without a slash in their name, independent of `PATH`.
  static let search: [BytePath] = ["/usr/local/bin", "/usr/bin", "/bin"]
  /// The loaders of programs of other kinds than this one.
  static let loaders: [BytePath] = [
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
  ]

  /// Returns the folders of the libraries that this process has loaded. Source: proc_pid_maps(5).
  static func foldersOfLoadedLibraries() -> [BytePath] {
    // Without the list, the system's folders must do, as they do for most programs.
    let bytes = try? Descriptor.open("/proc/self/maps", flags: O_RDONLY).readToEnd()
    var folders: Set<BytePath> = []
    for line in (bytes ?? []).split(separator: UInt8(ascii: "\n")) {
      guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
      let path = BytePath(bytes: line[slash...])
      if isLibrary(path.lastComponent) { folders.insert(path.parent) }
    }
    return folders.sorted()
  }

  /// Returns the shared libraries in a folder; none if it can't be read. Links are skipped: they
  /// may lead anywhere, and a linked library in the same folder is listed itself.
  package static func libraries(in path: BytePath) -> [BytePath] {
    libraries(in: path, kind: .regular)
  }

  /// Returns the links in a folder that are named like shared libraries, such as links to the
  /// newest version.
  static func libraryLinks(in path: BytePath) -> [BytePath] {
    libraries(in: path, kind: .link)
  }

  private static func libraries(in path: BytePath, kind: FileStatus.Kind) -> [BytePath] {
    guard let folder = try? Descriptor.openFolder(path), let entries = try? folder.entries() else {
      return []
    }
    return entries.map(\.name).filter { name in
      isLibrary(name) && (try? folder.status(of: name).kind) == kind
    }.map { path.appending($0) }
  }

  /// Whether a name is that of a shared library: it ends with `.so`, or with `.so` and a version.
  static func isLibrary(_ name: BytePath) -> Bool {
    let end = Array(".so".utf8)
    for start in name.bytes.indices where name.bytes[start...].starts(with: end) {
      let next = start + end.count
      if next == name.bytes.count || name.bytes[next] == UInt8(ascii: ".") { return true }
    }
    return false
  }

  /// Returns the folders in the loader's search path, LD_LIBRARY_PATH. Source: ld.so(8).
  static func foldersOfLoaderPath() -> [BytePath] {
    guard let value = getenv("LD_LIBRARY_PATH") else { return [] }
    let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
    return bytes.split(whereSeparator: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") })
      .map { BytePath(bytes: $0) }.filter(\.isAbsolute)
  }
}
