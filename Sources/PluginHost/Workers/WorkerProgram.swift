package import Configuration
import Dispatch
import Files
import Glibc
package import PipelineModel
import PipelinePlugin
import Sandbox

/// How to start workers of one plugin.
package struct WorkerProgram: Sendable {
  /// The plugin: a library that a worker loads, or a program that it becomes.
  package let plugin: WorkerLaunch.Plugin
  /// The program that has the verb `worker`.
  package let host: BytePath
  /// What the plugin may do beyond reading its input and writing its output.
  package let allowance: StageAllowance
  /// What a job of the stage may use, as far as the configuration says.
  package let limits: StageLimits
  /// What it may not read by being beside it.
  package let secrets: PluginSecrets

  /// This program, whatever has become of its file meanwhile. Source: proc(5).
  package static let thisProgram: BytePath = "/proc/self/exe"

  /// Makes it from its parts.
  package init(
    _ plugin: WorkerLaunch.Plugin, host: BytePath = WorkerProgram.thisProgram,
    allowance: StageAllowance = StageAllowance(), limits: StageLimits = StageLimits(),
    secrets: PluginSecrets = PluginSecrets()
  ) {
    self.plugin = plugin
    self.host = host
    self.allowance = allowance
    self.limits = limits
    self.secrets = secrets
  }

  /// What messages call it.
  var name: String {
    switch plugin {
    case .library(let path): path.printable
    case .executable(let words): words.first?.printable ?? ""
    }
  }

  /// Starts a worker.
  ///
  /// - Parameters:
  ///   - folder: where it works; `nil` for one that is only asked what it is.
  ///   - limits: what it may use.
  ///   - group: a control group without processes, which is removed after it; `nil` for none.
  func start(
    in folder: WorkerFolder?, limits: WorkerLimits, group: ControlGroup?,
    queue: DispatchQueue, handler: @escaping @Sendable (WorkerProcess.Event) -> Void
  ) throws(FileError) -> WorkerProcess {
    var policy = SandboxPolicy(
      read: [folder?.inputPath].compactMap(\.self) + ownPlaces + allowance.read,
      write: [folder?.outputPath].compactMap(\.self) + allowance.write)
    policy.secrets = secrets.secrets
    policy.personal = secrets.personal
    policy.network = allowance.network
    policy.exec = allowance.exec
    policy.hidesOthers = SandboxSupport.privateRootRefusal == nil
    policy.processes = limits.processes > 1 || allowance.exec
    let home = folder?.outputPath ?? "/"
    let launch = WorkerLaunch(
      plugin: plugin, policy: policy, limits: limits.ofProcess, group: group?.path, folder: home,
      parent: getpid(), environment: Self.environment(home: folder?.told(home) ?? home))
    return try WorkerProcess(
      launch, limits: limits, program: host, group: group, queue: queue, handler: handler)
  }

  /// What the plugin itself is read from: the folder that has its name, as `colour` has that of
  /// `colour.py`, or its file alone; and the shared libraries beside one, which it may need.
  var ownPlaces: [BytePath] {
    guard let file else { return [] }
    if isInFolderOfItsOwn { return [file.parent] }
    guard case .library = plugin else { return [file] }
    return [file] + Sandbox.libraries(in: file.parent).filter { $0 != file }
  }

  /// The plugin's file, where that is known: a name without a path is looked for by the worker.
  private var file: BytePath? {
    switch plugin {
    case .library(let path): PluginSecrets.real(path)
    case .executable(let words):
      words.first.flatMap { $0.isAbsolute ? PluginSecrets.real($0) : nil }
    }
  }

  private var isInFolderOfItsOwn: Bool {
    guard let file, file.parent.lastComponent == Self.name(of: file),
      // Those right beneath the root are the system's.
      file.parent.parent != "/"
    else { return false }
    return !secrets.contains(inside: file.parent)
  }

  /// The name of a plugin's file without `libpipeline-` and without what follows the last dot.
  private static func name(of file: BytePath) -> BytePath {
    var name = file.lastComponent.bytes[...]
    let prefix = "libpipeline-".utf8
    if name.starts(with: prefix) { name = name.dropFirst(prefix.count) }
    if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex {
      name = name[..<dot]
    }
    return BytePath(bytes: name)
  }

  private static func environment(home: BytePath) -> [String] {
    var variables = [
      "PATH=\(WorkerLaunch.searchPath)", "HOME=\(home)", "TMPDIR=\(home)", "LANG=C.UTF-8",
      "VIPS_CONCURRENCY=1",
      // The runtime would start a program to tell of a crash, which a worker may not, and a
      // signal that was sent would not end it.
      "SWIFT_BACKTRACE=enable=no",
    ]
    // Where this program finds its libraries a worker does, too.
    if let path = getenv("LD_LIBRARY_PATH") {
      variables.append("LD_LIBRARY_PATH=" + String(cString: path))
    }
    return variables
  }

  /// Says why a worker ended that was not asked to.
  ///
  /// - Parameters:
  ///   - isSetUp: whether the plugin had come as far as a job.
  ///   - log: the last line of its log.
  func failure(
    _ ending: ChildProcess.Ending, isSetUp: Bool, outputBytes: ByteSize?, log: String
  ) -> PluginFailure {
    let last = log.isEmpty ? "" : " Its last words were “\(BytePath(log).printable)”."
    guard isSetUp else {
      return PluginFailure(
        .environment,
        "The plugin \(name) ended while it was set up, \(Self.words(ending)).\(last)"
          + hint(on: log))
    }
    if case .signal(SIGXFSZ) = ending, let outputBytes {
      return PluginFailure(
        .permanent,
        "It was ended: it made a file of more than \(outputBytes)."
          + StageLimits.remedy(.outputBytes))
    }
    return PluginFailure(
      .transient, "The plugin \(name) crashed, \(Self.words(ending)).\(last)")
  }

  /// What may help where a plugin did not find a file that is beside its own.
  private func hint(on log: String) -> String {
    let words = [
      "No module named", "Permission denied", "No such file", "cannot open shared object",
    ]
    guard file != nil, !isInFolderOfItsOwn, words.contains(where: { log.contains($0) }) else {
      return ""
    }
    return " It may read its own file, and nothing beside that: put it into a folder that has its "
      + "name and nothing else in it, or name what it needs under \"allow\", \"read\"."
  }

  /// How it ended, to follow “ended”.
  static func words(_ ending: ChildProcess.Ending) -> String {
    switch ending {
    case .exit(let code): "with exit code \(code)"
    case .signal(let number): "by \(name(ofSignal: number))"
    }
  }

  private static func name(ofSignal number: Int32) -> String {
    let names = [
      SIGSEGV: "SIGSEGV", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGILL: "SIGILL",
      SIGTRAP: "SIGTRAP", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM",
      SIGSYS: "SIGSYS", SIGXFSZ: "SIGXFSZ", SIGXCPU: "SIGXCPU", SIGPIPE: "SIGPIPE",
    ]
    return names[number] ?? "signal \(number)"
  }
}
