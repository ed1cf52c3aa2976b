import Configuration
import PipelineModel
import PipelinePlugin
import PluginHost

/// The plugins of the configured stages, each asked what it is.
struct StagePlugins {
  /// The plugins that can be used, by the stages' names.
  private(set) var carriers: [String: any Carrier] = [:]
  /// Why the others can't be used, by the stages' names.
  private(set) var faults: [String: PluginFailure] = [:]
  /// Stages whose plugin is nowhere to be found.
  private(set) var unknown: Set<String> = []
  private let finder: PluginFinder
  private let configuration: PipelineConfiguration

  /// Finds the plugins, and asks all of them side by side.
  init(_ configuration: PipelineConfiguration, finder: PluginFinder) {
    self.finder = finder
    self.configuration = configuration
    let secrets = PluginSecrets(configuration)
    var descriptions: [WorkerLaunch.Plugin: WorkerDescription] = [:]
    var programs: [String: WorkerProgram] = [:]
    for stage in configuration.stages where stage.isolation == .process {
      do throws(PluginFailure) {
        let program = try Self.program(of: stage, finder: finder, secrets: secrets)
        programs[stage.name] = program
        if descriptions[program.plugin] == nil {
          descriptions[program.plugin] = WorkerDescription(program)
        }
      } catch {
        note(error, of: stage)
      }
    }
    for stage in configuration.stages where faults[stage.name] == nil {
      do throws(PluginFailure) {
        let carrier: any Carrier
        if let program = programs[stage.name], let description = descriptions[program.plugin] {
          carrier = try Self.carrier(of: stage, program, description)
        } else {
          carrier = try LibraryCarrier(path: try finder.find(stage.plugin))
        }
        let schema = carrier.manifest.options
        if let fault = OptionSchema.fault(in: schema, ofPlugin: stage.plugin) {
          throw PluginFailure(.environment, fault)
        }
        carriers[stage.name] = carrier
      } catch {
        note(error, of: stage)
      }
    }
  }

  /// Keeps in mind why a stage's plugin can't be used.
  private mutating func note(_ failure: PluginFailure, of stage: StageConfiguration) {
    faults[stage.name] = failure
    if stage.command == nil, finder.hasNo(stage.plugin) { unknown.insert(stage.name) }
  }

  /// The plugin that identifies, where no stage names it.
  func identify() throws(PluginFailure) -> any Carrier {
    try WorkerCarrier(
      WorkerProgram(
        .library(try finder.find(StagePlan.identifier)), secrets: PluginSecrets(configuration)))
  }

  /// How workers of a stage are started.
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

  private static func carrier(
    of stage: StageConfiguration, _ program: WorkerProgram, _ description: WorkerDescription
  ) throws(PluginFailure) -> WorkerCarrier {
    let carrier = WorkerCarrier(program, manifest: try description.manifest())
    guard carrier.manifest.id == stage.plugin else {
      throw PluginFailure(
        .environment,
        "The plugin of the stage \(stage.name) says that it is “\(carrier.manifest.id)”, not "
          + "“\(stage.plugin)”: correct “plugin” in the configuration.")
    }
    return carrier
  }
}
