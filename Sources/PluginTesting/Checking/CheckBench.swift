package import Configuration
import Files
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
    do throws(FileError) {
      let session = try WorkerSession(
        WorkerProgram(plugin, allowance: allowance, secrets: secrets), named: name,
        in: folder.path)
      return CheckedPlugin(session, options: options, bench: self)
    } catch {
      throw CheckFailure(
        "A process for the plugin can't be started. \(error.message)",
        advice: "The machine is at fault, not the plugin: see `pipeline doctor`.")
    }
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
