import CLinux
import Glibc
package import PipelineModel
package import Synchronization

/// This process, as another one starts and ends it.
package enum CurrentProcess {
  /// Asks the kernel to kill this process when the thread that started it ends. Source: prctl(2).
  ///
  /// - Parameter parent: the expected parent process; if it is not the parent, it has already
  ///   ended, and this process exits.
  package static func endWithParent(_ parent: Int32) {
    // Fails only for a wrong signal.
    _ = pipeline_end_with_parent(SIGKILL)
    if getppid() != parent { _exit(0) }
  }

  /// Makes this process the parent of orphaned descendants. Source: prctl(2).
  package static func adoptOrphans() {
    // Fails only for a wrong argument.
    _ = pipeline_adopt_orphans()
  }

  /// Asks the kernel to kill this process and its future children first when memory runs out.
  /// Source: proc_pid_oom_score_adj(5).
  package static func offerToBeEnded() throws(FileError) {
    try Descriptor.open("/proc/self/oom_score_adj", flags: O_WRONLY).write(Array("1000".utf8))
  }

  /// Whether somebody asked this process to end; set by whoever handles signals.
  package static let isAskedToEnd = Atomic(false)

  /// The values of some variables of the environment, those that are set. Source: getenv(3).
  package static func environment(_ names: [String]) -> [String: String] {
    var values: [String: String] = [:]
    for name in names { values[name] = getenv(name).map { String(cString: $0) } }
    return values
  }

  /// All variables of the environment, as `NAME=VALUE`. Source: environ(7).
  package static var variables: [BytePath] {
    guard let first = pipeline_environment() else { return [] }
    return sequence(first: first) { $0 + 1 }.lazy.map(\.pointee)
      .prefix { $0 != nil }.compactMap { $0.map { BytePath(cString: $0) } }
  }

  /// Changes the working folder. Source: chdir(2).
  package static func enter(_ folder: BytePath) throws(FileError) {
    try systemCall("enter", folder) { folder.withCString { chdir($0) } }
  }

  /// Makes a descriptor number refer to another descriptor's file. Source: dup2(2).
  package static func replace(_ number: Int32, by other: Int32) throws(FileError) {
    try systemCall("copy", nil) { dup2(other, number) }
  }

  /// Duplicates a descriptor. Source: fcntl(2).
  package static func duplicate(_ number: Int32, path: BytePath) throws(FileError) -> Descriptor {
    let copy = try systemCall("copy", path) { pipeline_fcntl(number, F_DUPFD_CLOEXEC, 3) }
    return Descriptor(takingOver: copy, path: path)
  }
}

/// The limit of open files of this process. Source: getrlimit(2).
package enum DescriptorLimit {
  package static var current: Int {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    // Fails only for a wrong argument; 256 is what any POSIX system allows.
    return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 256
  }

  /// Raises the limit as far as the hard limit allows.
  package static func raise(to wanted: Int) {
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(wanted)))
    setrlimit(resource, &limit)
  }
}
