import Files
import Glibc
import PipelineModel

/// Where Linux systems keep what every program needs.
enum SystemPaths {
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
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try Descriptor.open("/proc/self/maps", flags: O_RDONLY).readToEnd()
    } catch {
      // Without the list, the system's folders must do, as they do for most programs.
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

  /// Returns the shared libraries in a folder; none if it can't be read. Links are skipped: they
  /// may lead anywhere, and a linked library in the same folder is listed itself.
  static func libraries(in path: BytePath) -> [BytePath] {
    guard let folder = try? Descriptor.openFolder(path), let entries = try? folder.entries() else {
      return []
    }
    return entries.map(\.name).filter { name in
      isLibrary(name) && (try? folder.status(of: name).kind) == .regular
    }.map { path.appending($0) }
  }

  /// Returns the links in a folder that are named like shared libraries, such as links to the
  /// newest version.
  static func libraryLinks(in path: BytePath) -> [BytePath] {
    guard let folder = try? Descriptor.openFolder(path), let entries = try? folder.entries() else {
      return []
    }
    return entries.map(\.name).filter { name in
      isLibrary(name) && (try? folder.status(of: name).kind) == .link
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
