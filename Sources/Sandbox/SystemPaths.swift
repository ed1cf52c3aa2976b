import Files
import Glibc
import PipelineModel

/// Where a Linux system keeps what every program needs.
enum SystemPaths {
  /// Libraries and their data.
  static let libraries: [BytePath] = [
    "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/lib", "/lib32", "/lib64",
    "/usr/local/lib", "/usr/share",
  ]
  /// Files that libraries read when they start.
  static let settings: [BytePath] = [
    "/etc/ld.so.cache", "/etc/localtime", "/etc/fonts", "/etc/magic", "/etc/magic.mime",
    "/sys/devices/system/cpu",
  ]
  /// Devices that give bytes and have no other effect.
  static let devices: [BytePath] = ["/dev/urandom", "/dev/random"]
  /// What is needed to find other machines, and to know them.
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
  /// Folders in which every plugin may read, or every one that may do more.
  static let readable = libraries + settings + network + programs
  /// Where a program without a slash in its name is looked for, whatever `PATH` says.
  static let search: [BytePath] = ["/usr/local/bin", "/usr/bin", "/bin"]
  /// The loaders of programs that are not this one's kind.
  static let loaders: [BytePath] = [
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
  ]

  /// Returns the folders of the libraries that this process has loaded. Source: proc_pid_maps(5).
  static func foldersOfLoadedLibraries() -> [BytePath] {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try Descriptor.open("/proc/self/maps", flags: O_RDONLY).readToEnd()
    } catch {
      // Without the list the system's own folders have to do, as for most programs they do.
      return []
    }
    var folders: Set<BytePath> = []
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
      let path = BytePath(bytes: line[slash...])
      if isLibrary(path.lastComponent) { folders.insert(path.parent) }
    }
    return folders.sorted()
  }

  /// Returns the shared libraries in a folder; none where it can't be looked into. A link is none:
  /// it may lead anywhere, and where it leads to another library that is one itself.
  static func libraries(in path: BytePath) -> [BytePath] {
    guard let folder = try? Descriptor.openFolder(path), let entries = try? folder.entries() else {
      return []
    }
    return entries.map(\.name).filter { name in
      isLibrary(name) && (try? folder.status(of: name).kind) == .regular
    }.map { path.appending($0) }
  }

  /// Returns the links in a folder that are called like shared libraries, such as one to the newest
  /// version of another beside it.
  static func libraryLinks(in path: BytePath) -> [BytePath] {
    guard let folder = try? Descriptor.openFolder(path), let entries = try? folder.entries() else {
      return []
    }
    return entries.map(\.name).filter { name in
      isLibrary(name) && (try? folder.status(of: name).kind) == .link
    }.map { path.appending($0) }
  }

  /// Whether a name is one of a shared library: it ends with `.so`, or has a version behind it.
  static func isLibrary(_ name: BytePath) -> Bool {
    let end = Array(".so".utf8)
    for start in name.bytes.indices where name.bytes[start...].starts(with: end) {
      let next = start + end.count
      if next == name.bytes.count || name.bytes[next] == UInt8(ascii: ".") { return true }
    }
    return false
  }

  /// Returns the folders in which the environment tells the loader to look. Source: ld.so(8).
  static func foldersOfLoaderPath() -> [BytePath] {
    guard let value = getenv("LD_LIBRARY_PATH") else { return [] }
    let bytes = UnsafeRawBufferPointer(start: value, count: strlen(value))
    return bytes.split(whereSeparator: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") })
      .map { BytePath(bytes: $0) }.filter(\.isAbsolute)
  }
}
