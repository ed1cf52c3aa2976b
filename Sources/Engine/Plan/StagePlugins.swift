import Configuration
import PipelineModel
import PipelinePlugin
import PluginHost

/// The plugins of the configured stages, with their manifests.
struct StagePlugins {
  /// The usable plugins, by stage name.
  private(set) var backends: [String: any PluginBackend] = [:]
  /// Why the others are unusable, by stage name.
  private(set) var faults: [String: PluginFailure] = [:]
  /// Stages whose plugin can't be found.
  private(set) var unknown: Set<String> = []
  private let finder: PluginFinder
  private let configuration: PipelineConfiguration

  /// Finds the plugins and reads their manifests concurrently.
  init(_ configuration: PipelineConfiguration, finder: PluginFinder) {
    self.finder = finder
    self.configuration = configuration
    let secrets = PluginSecrets(configuration)
    var queries: [WorkerLaunch.Plugin: ManifestQuery] = [:]
    var programs: [String: WorkerProgram] = [:]
    for stage in configuration.stages where stage.isolation == .process {
      do throws(PluginFailure) {
        let program = try Self.program(of: stage, finder: finder, secrets: secrets)
        programs[stage.name] = program
        if queries[program.plugin] == nil {
          queries[program.plugin] = ManifestQuery(program)
        }
      } catch {
        note(error, of: stage)
      }
    }
    for stage in configuration.stages where faults[stage.name] == nil {
      do throws(PluginFailure) {
        let backend: any PluginBackend
        if let program = programs[stage.name], let query = queries[program.plugin] {
          backend = try Self.backend(of: stage, program, query)
        } else {
          backend = try LibraryBackend(path: try finder.find(stage.plugin))
        }
        let schema = backend.manifest.options
        if let fault = OptionSchema.fault(in: schema, ofPlugin: stage.plugin) {
          throw PluginFailure(.environment, fault)
        }
        backends[stage.name] = backend
      } catch {
        note(error, of: stage)
      }
    }
  }

  private mutating func note(_ failure: PluginFailure, of stage: StageConfiguration) {
    faults[stage.name] = failure
    if stage.command == nil, finder.hasNo(stage.plugin) { unknown.insert(stage.name) }
  }

  /// The identifying plugin, if no stage names it.
  func identify() throws(PluginFailure) -> any PluginBackend {
    try WorkerBackend(
      WorkerProgram(
        .library(try finder.find(StagePlan.identifier)), secrets: PluginSecrets(configuration)))
  }

  static func program(
    of stage: StageConfiguration, finder: PluginFinder, secrets: PluginSecrets
  ) throws(PluginFailure) -> WorkerProgram {
    guard let command = stage.command else {
      return WorkerProgram(
        .library(try finder.find(stage.plugin)), allowance: stage.allow, limits: stage.limits,
        secrets: secrets)
    }
    let words = command.map { BytePath($0) }
    if let program = words.first, program.isAbsolute { try PluginTrust.check(program: program) }
    return WorkerProgram(
      .executable(words), allowance: stage.allow, limits: stage.limits, secrets: secrets)
  }

  private static func backend(
    of stage: StageConfiguration, _ program: WorkerProgram, _ query: ManifestQuery
  ) throws(PluginFailure) -> WorkerBackend {
    let backend = WorkerBackend(program, manifest: try query.manifest())
    guard backend.manifest.id == stage.plugin else {
      throw PluginFailure(
        .environment,
        "The plugin of the stage \(stage.name) says that it is “\(backend.manifest.id)”, not "
          + "“\(stage.plugin)”: correct “plugin” in the configuration.")
    }
    return backend
  }
}
