package import Configuration
import Files
import Glibc
package import PipelineModel
package import PipelinePlugin
package import PluginHost

/// Where a plugin is checked: what it is given, and what is known of it so far.
package final class CheckBench {
  /// The plugin as it is started.
  let plugin: WorkerLaunch.Plugin
  /// What the plugin is told that it speaks to.
  let program: String
  /// The options that were given.
  let givenOptions: JSONValue
  /// Files to give it.
  private(set) var samples: [CheckSample] = []
  /// What it says of itself, once it has.
  var manifest: PluginManifest?
  /// What came over standard output without being a message, or unasked.
  var noise: [String] = []

  /// How long an answer may take.
  static let patience = TimeSpan(milliseconds: 30_000)
  /// How long its end may take.
  static let patienceForEnd = TimeSpan(milliseconds: 5000)

  /// What it may do, as a stage would allow it.
  private let allowance: StageAllowance
  private let secrets: PluginSecrets
  private let folder: CheckFolder
  private var sessions = 0

  /// Prepares a folder with files.
  ///
  /// - Parameters:
  ///   - program: the name and version of the program.
  ///   - files: files to give it beside the built-in ones.
  ///   - identify: the plugin that finds out media types; `nil` where there is none.
  ///   - allowance: what it may do beyond the sandbox.
  ///   - secrets: what no plugin may read by being beside it.
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

  /// The options to set it up with: those that were given, and the schema's defaults.
  var options: JSONValue {
    // Defaults of a schema that goes beyond its bounds are not worked out.
    guard let manifest, ManifestCheck.fault(in: manifest) == nil else { return givenOptions }
    return givenOptions.fillingDefaults(manifest.options)
  }

  /// The files whose type the plugin says that it accepts.
  var accepted: [CheckSample] {
    guard let accepts = manifest?.accepts else { return samples }
    return samples.filter { sample in accepts.contains { sample.mediaType.matches($0) } }
  }

  /// Writes a file to be given to the plugin.
  func write(_ bytes: [UInt8], as name: BytePath) throws(FileError) -> BytePath {
    try folder.write(bytes, as: name)
  }

  /// Starts the plugin; it was not spoken to.
  func start() throws(CheckFailure) -> CheckedPlugin {
    try start(plugin, options: options)
  }

  /// Starts the plugin and sets it up.
  ///
  /// - Parameter mayChangeInput: whether the sandbox lets it write where its input is.
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
        advice: "This is the machine's fault, not the plugin's: see `pipeline doctor`.")
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
    // What the identifying plugin does is not this plugin's doing.
    noise = []
  }
}
