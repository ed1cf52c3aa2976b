package import Configuration
package import Files
import Glibc
package import PipelineModel
import PipelinePlugin
package import PluginHost

/// The environment of a plugin's conformance checks: its inputs and what is known so far.
package final class CheckBench {
  let plugin: WorkerLaunch.Plugin
  /// The program's name and version, as the plugin is told.
  let program: String
  /// The options from the command line.
  let givenOptions: JSONValue
  private(set) var samples: [CheckSample] = []
  /// `nil` until the plugin has sent it.
  var manifest: PluginManifest?
  /// Standard output that was not a message, and unrequested messages.
  var noise: [String] = []

  /// The time limit of an answer.
  static let patience = TimeSpan(milliseconds: 30_000)
  /// The time limit of an exit.
  static let patienceForEnd = TimeSpan(milliseconds: 5000)

  /// What the plugin may do beyond the sandbox.
  private let allowance: StageAllowance
  private let secrets: PluginSecrets
  private let folder: CheckFolder
  private var sessions = 0

  /// Prepares a folder with files.
  ///
  /// - Parameters:
  ///   - files: test files in addition to the built-in ones.
  ///   - identify: the plugin that determines media types; `nil` if there is none.
  ///   - allowance: what the plugin may do beyond the sandbox.
  ///   - secrets: the files no plugin may read although they are next to it.
  package init(
    _ plugin: WorkerLaunch.Plugin, program: String, options: JSONValue, files: [BytePath],
    identify: BytePath?, allowance: StageAllowance = StageAllowance(), secrets: PluginSecrets
  ) throws {
    self.plugin = plugin
    self.program = program
    self.allowance = allowance
    self.secrets = secrets
    givenOptions = options
    folder = try CheckFolder()
    for (name, bytes) in CheckSample.builtIn {
      samples.append(
        CheckSample(name: name, path: try write(bytes, as: BytePath(name)), bytes: bytes))
    }
    for path in files {
      let bytes = try Descriptor.open(path, flags: O_RDONLY).readToEnd(limit: 1 << 30)
      samples.append(CheckSample(name: path.lastComponent.printable, path: path, bytes: bytes))
    }
    if let identify { try addFacts(identify) }
  }

  /// The given options completed by the schema's defaults.
  var options: JSONValue {
    // Defaults of an invalid schema are not computed.
    guard let manifest, ManifestCheck.fault(in: manifest) == nil else { return givenOptions }
    return givenOptions.fillingDefaults(manifest.options)
  }

  /// The samples of types that the plugin accepts.
  var accepted: [CheckSample] {
    guard let accepts = manifest?.accepts else { return samples }
    return samples.filter { sample in accepts.contains { sample.mediaType.matches($0) } }
  }

  /// Writes a file for the plugin.
  func write(_ bytes: [UInt8], as name: BytePath) throws(FileError) -> BytePath {
    try folder.write(bytes, as: name)
  }

  /// Starts the plugin without sending a message.
  func start() throws(CheckFailure) -> CheckedPlugin {
    try start(plugin, options: options)
  }

  /// Starts the plugin and sends “hello” and “create”.
  ///
  /// - Parameter mayChangeInput: whether the sandbox lets it write to its input folder.
  func startReady(mayChangeInput: Bool = false) throws(CheckFailure) -> CheckedPlugin {
    let plugin = try start(plugin, options: options, mayChangeInput: mayChangeInput)
    _ = try plugin.hello()
    try plugin.create()
    return plugin
  }

  private func start(
    _ plugin: WorkerLaunch.Plugin, options: JSONValue, mayChangeInput: Bool = false
  ) throws(CheckFailure) -> CheckedPlugin {
    sessions += 1
    let name = BytePath("session-\(sessions)")
    var allowance = allowance
    if mayChangeInput {
      allowance.write += [WorkerSession.input(named: name, in: folder.path)]
    }
    let program = WorkerProgram(plugin, allowance: allowance, secrets: secrets)
    let session = try CheckFailure.unless(
      try WorkerSession(program, named: name, in: folder.path),
      "A process for the plugin can't be started.",
      advice: "The machine is at fault, not the plugin: see `pipeline doctor`.")
    return CheckedPlugin(session, options: options, bench: self)
  }

  private func addFacts(_ identify: BytePath) throws {
    let plugin = try start(.library(identify), options: [:])
    _ = try plugin.hello()
    try plugin.create()
    for index in samples.indices {
      guard case .done(let facts, _) = try plugin.process(samples[index]).result else { continue }
      samples[index].facts = facts
    }
    // Noise of `identify` is not this plugin's fault.
    noise = []
  }
}

/// A temporary folder for checks, removed with the object.
package final class CheckFolder {
  /// The absolute path without symbolic links.
  package let path: BytePath
  private let parent: Descriptor
  private let folder: Descriptor

  /// Makes it, with a name prefix, in another folder; by default in `$TMPDIR`, or else in `/tmp`.
  package init(
    in place: BytePath? = nil, named prefix: String = "pipeline-check-"
  ) throws(FileError) {
    let standard = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let place = try FileSystem.realPath(of: place ?? BytePath(standard))
    // mkdtemp(3) replaces the X's to make the name unique.
    let pattern = place.appending("\(prefix)XXXXXX")
    var name = pattern.bytes.map { CChar(bitPattern: $0) } + [0]
    guard mkdtemp(&name) != nil else { throw FileError("make the folder", pattern, errno: errno) }
    path = BytePath(bytes: name.dropLast().map { UInt8(bitPattern: $0) })
    parent = try Descriptor.openFolder(place)
    folder = try Descriptor.openFolder(path)
  }

  deinit {
    // Clean-up: a leftover folder does not change the checks' results.
    try? parent.removeTree(FolderEntry(name: path.lastComponent, kind: .folder))
  }

  /// Writes a file, replacing one of the same name.
  package func write(_ bytes: [UInt8], as name: BytePath) throws(FileError) -> BytePath {
    let file = try Descriptor.open(
      name, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    try file.write(bytes)
    return path.appending(name)
  }
}
