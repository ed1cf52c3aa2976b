import Configuration
import Doctor
import Engine
import LibrarySession
import PipelineModel

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
        for fault in faults { context.console.failure(fault) }
        return .fatal
      }
      context.console.summary(
        "configuration", JSONMembers.path(configuration.file).merging(["valid": true]) { $1 },
        "\(configuration.file.printable) is valid.")
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
    let setup = try LibrarySetup(context.search)
    let configuration = setup.configuration
    let plan = try setup.plan()
    let faults = plan.stages.compactMap { StageFault($0, in: configuration) }
    let problems = setsUp ? try OptionTrial(plan, configuration).problems() : []
    if let errors = ConfigurationErrors(problems) {
      for fault in faults { context.console.failure(fault) }
      throw errors
    }
    return (configuration, faults)
  }
}
