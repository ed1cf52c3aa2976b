import Glibc

/// Limits that the kernel holds a worker to; set by the worker as its first act.
///
/// They hold for what it starts, too. Source: setrlimit(2).
package struct ProcessLimits: Hashable, Codable, Sendable {
  /// Bytes of private, writable memory, stacks of threads included; no limit by default.
  package var dataBytes: Int?
  /// The largest size of a file that it writes; no limit by default.
  package var fileBytes: Int?
  /// How many files it may have open; as inherited by default.
  package var openFiles: Int?
  /// Seconds of processor time in its whole life; no limit by default.
  package var processorSeconds: Int?

  /// Makes limits.
  package init(
    dataBytes: Int? = nil, fileBytes: Int? = nil, openFiles: Int? = nil,
    processorSeconds: Int? = nil
  ) {
    self.dataBytes = dataBytes
    self.fileBytes = fileBytes
    self.openFiles = openFiles
    self.processorSeconds = processorSeconds
  }

  /// Limits this process for good. A core file is never left.
  package func apply() throws(SandboxError) {
    // Not 0: with a core_pattern that is a pipe the kernel looks at no limit but
    // this one, which stands for “none”; and a core of less than a page it does not
    // write to a file. Source: fs/coredump.c.
    try set(RLIMIT_CORE, 1, "core files")
    try set(RLIMIT_DATA, dataBytes, "memory")
    try set(RLIMIT_FSIZE, fileBytes, "the size of files")
    try set(RLIMIT_NOFILE, openFiles, "open files")
    try set(RLIMIT_CPU, processorSeconds, "processor time")
    // What the kernel keeps for timers and waiting signals is no process's memory.
    try set(__RLIMIT_SIGPENDING, 256, "waiting signals")
  }

  private func set(
    _ resource: __rlimit_resource, _ value: Int?, _ what: String
  ) throws(SandboxError) {
    guard let value else { return }
    let kind = __rlimit_resource_t(resource.rawValue)
    var old = rlimit()
    try systemCall("ask for the limit of \(what)") { getrlimit(kind, &old) }
    // A limit that is lower already stays: only a privileged process could raise it.
    let wanted = min(rlim_t(clamping: max(0, value)), old.rlim_max)
    var new = rlimit(rlim_cur: wanted, rlim_max: wanted)
    try systemCall("limit \(what)") { setrlimit(kind, &new) }
  }
}
