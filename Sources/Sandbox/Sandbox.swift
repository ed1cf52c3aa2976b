internal import CSandbox
import Files
import Glibc
package import PipelineModel

/// What a process does to be harmless: once, for good, and for all that it starts.
///
/// In this order: no new privileges, a root folder of its own, no capabilities, Landlock, a
/// filter of system calls. What is open already stays open.
package enum Sandbox {
  /// Restricts this process for good; before any thread exists.
  ///
  /// On a kernel without Landlock the filter alone holds; see `SandboxSupport`.
  ///
  /// - Parameters:
  ///   - policy: what it may do.
  ///   - names: paths by which what the policy allows is called, where they have links.
  /// - Throws: `SandboxError` if a path of the policy is missing, or the process has threads.
  ///   It may then be restricted in part, and should end.
  package static func enter(
    _ policy: SandboxPolicy, names: [BytePath] = []
  ) throws(SandboxError) {
    try restrict(
      policy, reading: [], executing: [], names: names, by: policy.exec ? .any : .none)
  }

  /// Restricts this process in the same way and becomes another program.
  ///
  /// The program gets descriptors 0 to 2, and signals as a shell would give them. It
  /// may start another one only if the policy says `exec`. A script is started by the
  /// interpreter that its first line names.
  ///
  /// - Parameters:
  ///   - program: a path; without a slash it is looked for in `/usr/local/bin`, `/usr/bin`
  ///     and `/bin`.
  ///   - arguments: those behind the program's name.
  package static func execute(
    _ program: BytePath, arguments: [BytePath], environment: [(String, String)],
    policy: SandboxPolicy
  ) throws(SandboxError) -> Never {
    let started = try StartedProgram(finding: program, arguments: arguments)
    let memory = try SecretMemory(
      // Empty: the descriptor alone says which file.
      path: [], arguments: started.arguments.map(\.bytes),
      environment: environment.map { Array("\($0.0)=\($0.1)".utf8) })
    try systemCall("close what is open when a program starts") {
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
        + "\(String(cString: strerror(code))).",
      path: started.file.path, cause: code)
  }

  /// Returns where the system's libraries are, and those that this process has loaded, for the
  /// `read` of a policy.
  ///
  /// Folders that are there, also those of `LD_LIBRARY_PATH`; of one that holds a secret of the
  /// policy its libraries alone.
  package static func systemPlaces(_ policy: SandboxPolicy) -> [BytePath] {
    systemFolders().flatMap { folder in
      policy.secret(in: folder) == nil ? [folder] : SystemPaths.libraries(in: folder)
    }
  }

  /// Returns the shared libraries in a folder, without links.
  package static func libraries(in folder: BytePath) -> [BytePath] {
    SystemPaths.libraries(in: folder)
  }

  private static func systemFolders() -> [BytePath] {
    let all =
      SystemPaths.libraries + SystemPaths.foldersOfLoadedLibraries()
      + SystemPaths.foldersOfLoaderPath()
    var found: [BytePath] = []
    for folder in all {
      do throws(FileError) {
        let real = try FileSystem.realPath(of: folder)
        if !found.contains(real) { found.append(real) }
      } catch {
        // One that can't be reached has nothing that could be loaded.
        continue
      }
    }
    return found.filter { folder in
      !found.contains { folder.relative(to: $0) != nil }
    }
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
        "This kernel can't filter system calls (CONFIG_SECCOMP_FILTER), so a plugin would not "
          + "be held to anything. Stages with “\"isolation\": \"none\"” work without.")
    }
    let version = min(support.landlockABI, policy.greatestLandlockABI ?? .max)
    let filter = try SystemCallFilter.make(
      policy, execution: execution, keepsSignals: version >= 6)
    let landlock = version < 1 ? nil : try Landlock(version: version, network: policy.network)
    let places = try AllowedPlaces(policy, landlock, reading: reading, executing: executing)
    try systemCall("do without new privileges") { pipeline_no_new_privileges() }
    // Reading what the user's permissions hide stays, where the user may: an original that was
    // moved here may be somebody else's, and Landlock says what is read. A namespace brings along
    // capabilities that nobody gave.
    let number = Int32(pipeline_capability_read_search)
    let kept: UInt64 = pipeline_has_capability(number) == 0 ? 0 : 1 << UInt64(number)
    if policy.hidesOthers { PrivateRoot.enter(showing: places, names: names) }
    try systemCall("give up capabilities") { pipeline_keep_capabilities(kept) }
    try landlock?.restrict()
    if policy.asksBeforeForking { ForkQuestions.begin(by: ForkQuestions.workerNumber) }
    try filter.enter()
  }

  /// A thread that exists already would stay free. Source: landlock(7); proc_pid_task(5).
  private static func requireOneThread() throws(SandboxError) {
    let links: UInt64
    do throws(FileError) {
      links = try Descriptor.open("/proc/self/task", flags: Int32(pipeline_open_path)).status()
        .links
    } catch {
      throw SandboxError("count threads in /proc/self/task", errno: error.errno)
    }
    // One name in its parent, one in itself, and one in each thread's folder.
    guard links == 3 else {
      throw SandboxError(
        .threads, "A process with \(links - 2) threads can't enter the sandbox.")
    }
  }

  /// What this process ignores or holds back, its successor would, too. Source: signal(7).
  private static func resetSignals() {
    for number in 1...64 { signal(Int32(number), SIG_DFL) }
    var none = sigset_t()
    sigemptyset(&none)
    sigprocmask(SIG_SETMASK, &none, nil)
  }
}
