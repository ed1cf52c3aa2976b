import Configuration
import Engine
import PipelineModel
import PipelinePlugin
import PluginHost

/// `pipeline config`: checks or prints the configuration.
enum ConfigVerb: Verb {
  static let name = "config"
  static let summary = "Check the configuration, show it with all defaults, or print its schema"
  static let operands = "check|show|schema"
  static let examples = [
    ("pipeline config check", "every problem, with a JSON pointer"),
    ("pipeline config show", "with all defaults filled in"),
    ("pipeline config schema > pipeline.schema.json", "the JSON Schema, for editors"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    try context.expectOperands(atMost: 1)
    switch try context.operand(0, "check, show or schema").utf8 {
    case "check":
      let (configuration, faults) = try checked(context, setsUp: true)
      guard faults.isEmpty else {
        for fault in faults { Failure(fault).print(on: context.console) }
        return .fatal
      }
      if context.console.isJSON {
        context.console.event(
          "configuration", JSONMembers.path(configuration.file).merging(["valid": true]) { $1 })
      } else if context.console.isTerminal || context.console.isVerbose {
        context.console.message("\(configuration.file.printable) is valid.")
      }
    case "show":
      let effective = try checked(context, setsUp: false).configuration.effective()
      if context.console.isJSON {
        context.console.event("configuration", ["configuration": effective])
      } else {
        context.console.result(lines: try JSONText.encodePretty(effective))
      }
    case "schema":
      context.console.write(Array(ConfigurationSchema.text.utf8))
    default:
      throw UsageError("Name an action: check, show or schema.", verb: name)
    }
    return .success
  }

  /// Loads the configuration and checks it against the plugins.
  ///
  /// - Parameter setsUp: whether to also send the options to the plugins.
  /// - Returns: the configuration and the faults of unusable plugins.
  /// - Throws: `ConfigurationErrors` for problems of the configuration itself.
  private static func checked(
    _ context: Context, setsUp: Bool
  ) throws -> (configuration: PipelineConfiguration, faults: [StageFault]) {
    let setup = try LibrarySetup(context)
    let configuration = setup.configuration
    let finder = PluginFinder(configured: configuration.plugins)
    let plan = try StagePlan(
      configuration, finder: finder, recorded: setup.recordedStages)
    let faults = plan.stages.compactMap { StageFault($0, in: configuration) }
    let trial = OptionTrial(plan, configuration, finder: finder)
    let problems = setsUp ? try trial.problems() : []
    if let errors = ConfigurationErrors(problems) {
      for fault in faults { Failure(fault).print(on: context.console) }
      throw errors
    }
    return (configuration, faults)
  }
}

/// A stage whose plugin can't be used.
struct StageFault: Error {
  let message: String
  /// The JSON pointer into the configuration; `nil` for an implicit stage.
  let pointer: String?

  /// - Returns: `nil` for a stage that can run.
  init?(_ stage: StagePlan.Stage, in configuration: PipelineConfiguration) {
    guard let fault = stage.fault else { return nil }
    message =
      "The stage “\(stage.name)” can't run: its plugin is “\(stage.configuration.plugin)”. "
      + fault.reason
    pointer = configuration.stages.firstIndex { $0.name == stage.name }.map {
      "/stages/\($0)/\(stage.configuration.command == nil ? "plugin" : "command")"
    }
  }
}
