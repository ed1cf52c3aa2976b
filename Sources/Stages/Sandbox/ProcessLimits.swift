import Glibc

/// Kernel-enforced limits, which a worker sets on itself first of all.
///
/// Its children inherit them. Source: setrlimit(2).
package struct ProcessLimits: Hashable, Codable, Sendable {
  /// Bytes of private writable memory, thread stacks included; unlimited by default.
  package var dataBytes: Int?
  /// The largest file it may write, in bytes; unlimited by default.
  package var fileBytes: Int?
  /// The number of open files; inherited by default.
  package var openFiles: Int?
  /// Seconds of processor time over its whole life; unlimited by default.
  package var processorSeconds: Int?

  /// Creates limits.
  package init(
    dataBytes: Int? = nil, fileBytes: Int? = nil, openFiles: Int? = nil,
    processorSeconds: Int? = nil
  ) {
    self.dataBytes = dataBytes
    self.fileBytes = fileBytes
    self.openFiles = openFiles
    self.processorSeconds = processorSeconds
  }

  /// Limits this process for good, and disables core files.
  package func apply() throws(SandboxError) {
    // Not 0: if core_pattern is a pipe, the kernel checks only this limit and takes 1 for “none”;
    // and it writes no core of less than a page to a file. Source: fs/coredump.c.
    try set(RLIMIT_CORE, 1, "core files")
    try set(RLIMIT_DATA, dataBytes, "memory")
    try set(RLIMIT_FSIZE, fileBytes, "the size of files")
    try set(RLIMIT_NOFILE, openFiles, "open files")
    try set(RLIMIT_CPU, processorSeconds, "processor time")
    // Kernel memory for timers and pending signals counts for no process.
    try set(__RLIMIT_SIGPENDING, 256, "pending signals")
  }

  private func set(
    _ resource: __rlimit_resource, _ value: Int?, _ what: String
  ) throws(SandboxError) {
    guard let value else { return }
    let kind = __rlimit_resource_t(resource.rawValue)
    var old = rlimit()
    try systemCall("read the limit on \(what)") { getrlimit(kind, &old) }
    // A lower limit stays: only a privileged process could raise it.
    let wanted = min(rlim_t(clamping: max(0, value)), old.rlim_max)
    var new = rlimit(rlim_cur: wanted, rlim_max: wanted)
    try systemCall("limit \(what)") { setrlimit(kind, &new) }
  }
}
