internal import CSandbox
import Files
import Glibc
package import PipelineModel

/// Restricts a process for good, with everything that it starts.
///
/// In this order: no new privileges, a private root, no capabilities, Landlock, a system call
/// filter. Open descriptors stay open.
package enum Sandbox {
  /// Restricts this process for good; call it before creating threads.
  ///
  /// On a kernel without Landlock, the filter works alone; see `SandboxSupport`.
  ///
  /// - Parameters:
  ///   - policy: what the process may do.
  ///   - names: paths with links by which the allowed places are called.
  /// - Throws: `SandboxError` if a path of the policy is missing or the process has threads. It may
  ///   then be partly restricted, and should end.
  package static func enter(_ policy: SandboxPolicy, names: [BytePath] = []) throws(SandboxError) {
    try restrict(policy, reading: [], executing: [], names: names, by: policy.exec ? .any : .none)
  }

  /// Restricts this process in the same way and executes another program.
  ///
  /// The program gets descriptors 0 to 2, and signal handling as from a shell. It may start other
  /// programs only if the policy's `exec` is set. A script is run by the interpreter that its first
  /// line names.
  ///
  /// - Parameters:
  ///   - program: a path; a name without a slash is searched for in `/usr/local/bin`, `/usr/bin`
  ///     and `/bin`.
  ///   - arguments: the arguments after the program's name.
  package static func execute(
    _ program: BytePath, arguments: [BytePath], environment: [(String, String)],
    policy: SandboxPolicy
  ) throws(SandboxError) -> Never {
    let started = try StartedProgram(finding: program, arguments: arguments)
    let memory = try SecretMemory(
      // Empty, because the descriptor alone identifies the file.
      path: [], arguments: started.arguments.map(\.bytes),
      environment: environment.map { Array("\($0.0)=\($0.1)".utf8) })
    try systemCall("mark descriptors close-on-exec") {
      pipeline_close_on_exec_from(3)
    }
    resetSignals()
    try restrict(
      policy, reading: started.read, executing: started.execute, names: started.names,
      by: policy.exec
        ? .any
        : .once(
          path: UInt64(UInt(bitPattern: memory.path)),
          arguments: UInt64(UInt(bitPattern: memory.arguments)),
          environment: UInt64(UInt(bitPattern: memory.environment))))
    pipeline_execute(
      started.file.number, memory.path.assumingMemoryBound(to: CChar.self),
      memory.arguments.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self),
      memory.environment.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self))
    let code = errno
    throw SandboxError(
      .program,
      "The program “\(started.file.path.printable)” can't be started: "
        + "\(String(cString: strerror(code))).")
  }

  /// Returns the folders of the system's libraries and of those that this process has loaded, for a
  /// policy's `read`.
  ///
  /// Includes existing folders of `LD_LIBRARY_PATH`. Of a folder that contains a secret of the
  /// policy, lists only the libraries.
  package static func systemPlaces(_ policy: SandboxPolicy) -> [BytePath] {
    systemFolders().flatMap { folder in
      policy.secret(in: folder) == nil ? [folder] : SystemPaths.libraries(in: folder)
    }
  }

  private static func systemFolders() -> [BytePath] {
    let all =
      SystemPaths.libraries + SystemPaths.foldersOfLoadedLibraries()
      + SystemPaths.foldersOfLoaderPath()
    var found: [BytePath] = []
    for folder in all {
      // Nothing can be loaded from a folder that can't be reached.
      guard let real = try? FileSystem.realPath(of: folder), !found.contains(real) else { continue }
      found.append(real)
    }
    return found.filter { folder in !found.contains { folder.relative(to: $0) != nil } }
  }

  private static func restrict(
    _ policy: SandboxPolicy, reading: [Descriptor], executing: [Descriptor], names: [BytePath],
    by execution: Execution
  ) throws(SandboxError) {
    try requireOneThread()
    try policy.requireSecretsApart()
    for place in reading + executing { try policy.requireApart(place) }
    let support = SandboxSupport.probe()
    guard support.seccomp else {
      throw SandboxError(
        .unsupported,
        "This kernel can't filter system calls (CONFIG_SECCOMP_FILTER), so nothing would restrict a "
          + "plugin. Stages with “\"isolation\": \"none\"” don't need it.")
    }
    let version = min(support.landlockABI, policy.greatestLandlockABI ?? .max)
    let filter = try SystemCallFilter.make(policy, execution: execution, keepsSignals: version >= 6)
    let landlock = version < 1 ? nil : try Landlock(version: version, network: policy.network)
    let places = try AllowedPaths(policy, landlock, reading: reading, executing: executing)
    try systemCall("set no_new_privs") { pipeline_no_new_privileges() }
    // Keep the right to read any file if the user has it: an original that was moved here may
    // belong to somebody else, and Landlock limits what is read. All others go, because a new
    // namespace grants capabilities.
    let number = Int32(pipeline_capability_read_search)
    let kept: UInt64 = pipeline_has_capability(number) == 0 ? 0 : 1 << UInt64(number)
    if policy.hidesOthers { PrivateRoot.enter(showing: places, names: names) }
    try systemCall("drop capabilities") { pipeline_keep_capabilities(kept) }
    try landlock?.restrict()
    if policy.asksBeforeForking { ForkRequests.begin(by: ForkRequests.workerNumber) }
    try filter.enter()
  }

  /// Existing threads would stay unrestricted. Source: landlock(7); proc_pid_task(5).
  private static func requireOneThread() throws(SandboxError) {
    let links: UInt64
    do throws(FileError) {
      links = try Descriptor.open("/proc/self/task", flags: Int32(pipeline_open_path)).status()
        .links
    } catch {
      throw SandboxError("count threads in /proc/self/task", errno: error.errno)
    }
    // Links: one in the parent, one in itself, and one in each thread's folder.
    guard links == 3 else {
      throw SandboxError(.threads, "A process with \(links - 2) threads can't enter the sandbox.")
    }
  }

  /// Ignored and blocked signals are inherited through execve. Source: signal(7).
  private static func resetSignals() {
    for number in 1...64 { signal(Int32(number), SIG_DFL) }
    var none = sigset_t()
    sigemptyset(&none)
    sigprocmask(SIG_SETMASK, &none, nil)
  }
}
