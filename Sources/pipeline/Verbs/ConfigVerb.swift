import Configuration
import Engine
import PipelineModel

/// `pipeline config`: the configuration, checked or spelled out.
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
      let configuration = try checked(context)
      if context.console.isJSON {
        context.console.event(
          "configuration", JSONMembers.path(configuration.file).merging(["valid": true]) { $1 })
      } else if context.console.isTerminal || context.console.isVerbose {
        context.console.message("\(configuration.file.printable) is valid.")
      }
    case "show":
      let effective = try checked(context).effective()
      if context.console.isJSON {
        context.console.event("configuration", ["configuration": effective])
      } else {
        context.console.result(lines: try JSONText.encodePretty(effective))
      }
    case "schema":
      context.console.write(Array(ConfigurationSchema.text.utf8))
    default:
      throw UsageError("Say check, show or schema.", verb: name)
    }
    return .success
  }

  /// Loads the configuration and compares it with the plugins, without any work.
  private static func checked(_ context: Context) throws -> PipelineConfiguration {
    let configuration = try Surroundings(context).configuration
    _ = try StagePlan(configuration, finder: PluginFinder(configured: configuration.plugins))
    return configuration
  }
}
