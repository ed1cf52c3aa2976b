import Configuration
import PipelineModel
import PipelinePlugin

/// The plugins of the configured stages, each asked what it is.
struct StagePlugins {
  /// By the stages' names.
  let carriers: [String: any Carrier]
  private let finder: PluginFinder
  private let configuration: PipelineConfiguration

  /// Finds the plugins, and asks all of them side by side.
  ///
  /// - Throws: `ConfigurationErrors` for one that there is not, `EngineError` for one
  ///   that can't be used.
  init(_ configuration: PipelineConfiguration, finder: PluginFinder) throws {
    self.finder = finder
    self.configuration = configuration
    let found = try Self.translating { () throws(PluginFailure) in try finder.all() }
    // Known ids are needed for “did you mean”; their schemas are not yet.
    let known = Dictionary(uniqueKeysWithValues: found.map { ($0.id, JSONValue.object([:])) })
    let unknown = configuration.problems(plugins: known).filter { $0.code == .unknownPlugin }
    if let errors = ConfigurationErrors(unknown) { throw errors }
    let secrets = PluginSecrets(configuration)
    var descriptions: [WorkerLaunch.Plugin: WorkerDescription] = [:]
    var programs: [String: WorkerProgram] = [:]
    for stage in configuration.stages where stage.isolation == .process {
      let program = try Self.translating { () throws(PluginFailure) in
        try Self.program(of: stage, finder: finder, secrets: secrets)
      }
      programs[stage.name] = program
      if descriptions[program.plugin] == nil {
        descriptions[program.plugin] = WorkerDescription(program)
      }
    }
    var carriers: [String: any Carrier] = [:]
    for stage in configuration.stages {
      carriers[stage.name] = try Self.translating { () throws(PluginFailure) in
        guard let program = programs[stage.name], let description = descriptions[program.plugin]
        else { return try LibraryCarrier(path: try finder.find(stage.plugin)) }
        return try Self.carrier(of: stage, program, description)
      }
    }
    self.carriers = carriers
  }

  /// The plugin that identifies, where no stage names it.
  func identify() throws -> any Carrier {
    try Self.translating { () throws(PluginFailure) in
      let path = try finder.find(StagePlan.identifier)
      return try WorkerCarrier(
        WorkerProgram(.library(path), secrets: PluginSecrets(configuration)))
    }
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

  private static func translating<Result>(
    _ body: () throws(PluginFailure) -> Result
  ) throws(EngineError) -> Result {
    do throws(PluginFailure) {
      return try body()
    } catch {
      throw EngineError(.plugin, error.reason, cause: error)
    }
  }
}
