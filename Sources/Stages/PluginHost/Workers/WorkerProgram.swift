package import Configuration
import Dispatch
import Files
import Glibc
package import PipelineModel
import PipelinePlugin
import Sandbox

/// How to start workers of one plugin.
package struct WorkerProgram: Sendable {
  /// The plugin: a library that a worker loads, or a program that it executes.
  package let plugin: WorkerLaunch.Plugin
  /// The program that has the verb `worker`.
  package let host: BytePath
  /// What the plugin may do besides reading its input and writing its output.
  package let allowance: StageAllowance
  /// The limits for a job, as configured.
  package let limits: StageLimits
  /// Paths that don't become readable by being near the plugin's own file.
  package let secrets: PluginSecrets

  /// This program, whatever has happened to its file since. Source: proc(5).
  package static let thisProgram: BytePath = "/proc/self/exe"

  /// Creates a description from its parts.
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

  /// The plugin's name in messages.
  var name: String {
    switch plugin {
    case .library(let path): path.printable
    case .executable(let words): words.first?.printable ?? ""
    }
  }

  /// Starts a worker.
  ///
  /// - Parameters:
  ///   - folder: where it works; `nil` if it only reports its manifest.
  ///   - limits: its resource limits.
  ///   - isGrouped: whether it gets a control group, if there are any.
  func start(
    in folder: WorkerFolder?, limits: WorkerLimits, isGrouped: Bool,
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
    let group = isGrouped ? try WorkerControlGroups.shared.make(limits) : nil
    let launch = WorkerLaunch(
      plugin: plugin, policy: policy, limits: limits.ofProcess, group: group?.path, folder: home,
      parent: getpid(), environment: Self.environment(home: folder?.told(home) ?? home))
    do throws(FileError) {
      return try WorkerProcess(
        launch, limits: limits, program: host, group: group, queue: queue, handler: handler)
    } catch {
      if let group { WorkerControlGroups.shared.remove(group) }
      throw error
    }
  }

  /// Where the plugin is read from: the folder with its name, as `colour` for `colour.py`;
  /// otherwise only its file and, for a library, the shared libraries next to it.
  var ownPlaces: [BytePath] {
    guard let file else { return [] }
    if isInFolderOfItsOwn { return [file.parent] }
    guard case .library = plugin else { return [file] }
    return [file] + SystemPaths.libraries(in: file.parent).filter { $0 != file }
  }

  /// The plugin's file, if known: the worker itself searches for a name without a path.
  private var file: BytePath? {
    switch plugin {
    case .library(let path): PluginSecrets.real(path)
    case .executable(let words):
      words.first.flatMap { $0.isAbsolute ? PluginSecrets.real($0) : nil }
    }
  }

  private var isInFolderOfItsOwn: Bool {
    guard let file, file.parent.lastComponent == Self.name(of: file),
      // Folders directly below the root belong to the system.
      file.parent.parent != "/"
    else { return false }
    return !secrets.contains(inside: file.parent)
  }

  /// The name of a plugin's file without `libpipeline-` and its extension.
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
      // After a crash, the runtime would start a program to report it, which a worker may not do,
      // and a signal that was sent would not end the worker.
      "SWIFT_BACKTRACE=enable=no",
    ]
    // Workers find libraries where this program does.
    if let path = getenv("LD_LIBRARY_PATH") {
      variables.append("LD_LIBRARY_PATH=" + String(cString: path))
    }
    return variables
  }

  /// Describes an unexpected end of a worker.
  ///
  /// - Parameters:
  ///   - isSetUp: whether the plugin had been set up.
  ///   - log: the last line of its log.
  func failure(
    _ ending: ChildProcess.ExitStatus, isSetUp: Bool, outputBytes: ByteSize?, log: String
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
        .permanent, "It was ended: it made a file of more than \(outputBytes).",
        limit: .outputBytes)
    }
    return PluginFailure(.transient, "The plugin \(name) crashed, \(Self.words(ending)).\(last)")
  }

  /// Advice for a plugin that could not find a file next to its own.
  private func hint(on log: String) -> String {
    let words = [
      "No module named", "Permission denied", "No such file", "cannot open shared object",
    ]
    guard file != nil, !isInFolderOfItsOwn, words.contains(where: { log.contains($0) }) else {
      return ""
    }
    return " It may read only its own file: put it, with everything that it needs, into a folder "
      + "named after it, or name what it needs under \"allow\", \"read\"."
  }

  /// How it ended, worded to follow “ended”.
  static func words(_ ending: ChildProcess.ExitStatus) -> String {
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

/// Paths that don't become readable by being near a plugin's own file, nor by being in a folder
/// that does.
package struct PluginSecrets: Hashable, Sendable {
  /// The library, its catalog and the configuration's folder.
  let secrets: [BytePath]
  /// Sources and home folders.
  let personal: [BytePath]

  /// Collects the paths that a configuration names, and home folders.
  package init(_ configuration: PipelineConfiguration? = nil) {
    let named = configuration.map {
      [$0.library, $0.folder] + [$0.catalog?.folder].compactMap(\.self)
    }
    secrets = (named ?? []).map(Self.real)
    personal = (configuration?.sources.map(\.path) ?? []).map(Self.real) + Self.homes
  }

  /// Whether a folder contains any of these paths.
  ///
  /// - Parameter folder: a path without links.
  func contains(inside folder: BytePath) -> Bool {
    (secrets + personal).contains { $0 == folder || $0.relative(to: folder) != nil }
  }

  /// The path with links resolved; unchanged if nothing exists there.
  static func real(_ path: BytePath) -> BytePath {
    (try? FileSystem.realPath(of: path)) ?? path
  }

  /// The home folders of the user, of root, and in the usual places.
  private static let homes: [BytePath] = {
    var found: [BytePath] = ["/root", "/home"]
    if let home = getenv("HOME") { found.append(BytePath(cString: home)) }
    for folder: BytePath in ["/home", "/var/home"] {
      // If the folder can't be listed, make do with the known homes.
      let entries = (try? Descriptor.openFolder(folder).entries()) ?? []
      found += entries.map { folder.appending($0.name) }
    }
    return found.filter(\.isAbsolute).map(real)
  }()
}
