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
  /// Folders that it may not read by being beside its file: the library, above all.
  package let secrets: [BytePath]

  /// This program, whatever has become of its file meanwhile. Source: proc(5).
  package static let thisProgram: BytePath = "/proc/self/exe"

  /// Makes it from its parts.
  package init(
    _ plugin: WorkerLaunch.Plugin, host: BytePath = WorkerProgram.thisProgram,
    allowance: StageAllowance = StageAllowance(), limits: StageLimits = StageLimits(),
    secrets: [BytePath] = []
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
      read: [folder?.inputPath].compactMap(\.self) + places() + allowance.read,
      write: [folder?.outputPath].compactMap(\.self) + allowance.write)
    policy.network = allowance.network
    policy.exec = allowance.exec
    policy.processes = limits.processes > 1 || allowance.exec
    let home = folder?.outputPath ?? "/"
    let launch = WorkerLaunch(
      plugin: plugin, policy: policy, limits: limits.ofProcess, group: group?.path, folder: home,
      parent: getpid(), environment: Self.environment(home: folder?.told(home) ?? home))
    return try WorkerProcess(
      launch, limits: limits, program: host, group: group, queue: queue, handler: handler)
  }

  /// The places that the plugin itself is read from: its folder, as it may have files beside it,
  /// or its file alone where the folder holds what it must not see.
  private func places() -> [BytePath] {
    let file: BytePath
    switch plugin {
    case .library(let path): file = path
    case .executable(let words):
      guard let program = words.first, program.isAbsolute else { return [] }
      file = program
    }
    let folder = Self.real(file.parent)
    return [Self.secret(of: secrets, in: folder) == nil ? folder : file]
  }

  /// The first of some folders that can be read by who can read another.
  static func secret(of secrets: [BytePath], in folder: BytePath) -> BytePath? {
    let folder = real(folder)
    return secrets.first { secret in
      let secret = real(secret)
      return secret == folder || secret.relative(to: folder) != nil
    }
  }

  /// The path without links, which the kernel follows; as it is where there is nothing yet.
  private static func real(_ path: BytePath) -> BytePath {
    do throws(FileError) {
      return try FileSystem.realPath(of: path)
    } catch {
      return path
    }
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
        "The plugin \(name) ended while it was set up, \(Self.words(ending)).\(last)")
    }
    if case .signal(SIGXFSZ) = ending, let outputBytes {
      return PluginFailure(
        .permanent, "It was ended: it made a file of more than \(outputBytes).")
    }
    return PluginFailure(
      .transient, "The plugin \(name) crashed, \(Self.words(ending)).\(last)")
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
