import Configuration
import PipelineModel
import PipelinePlugin

/// Its option schema is valid, and its defaults conform to it.
struct OptionsSchemaCheck: PluginCheck {
  let name = "options"

  /// An option name that no plugin has.
  private static let unknown = "no-such-option"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let options = bench.manifest?.options else { return .skipped("there is no manifest") }
    let schema = try usable(options)
    let properties = options["properties"]?.object ?? [:]
    let required = (options["required"]?.array ?? []).compactMap(\.string)
    for (name, property) in properties.sorted(by: { $0.key < $1.key })
    where property["default"] == nil && !required.contains(name) {
      throw CheckFailure(
        "The option “\(name)” is not required and has no default.",
        advice: "Give its schema a “default”, so that equal options compare as equal.")
    }
    let defaults = JSONValue.object(properties.compactMapValues { $0["default"] })
    for problem in schema.problems(with: defaults) where problem.code != .missingKey {
      throw CheckFailure(
        "The defaults don't conform to the schema. \(problem.message)",
        advice: "Correct the schema, or the default.")
    }
    if let problem = schema.problems(with: bench.givenOptions).first {
      throw CheckFailure(
        "The options \(bench.givenOptions == [:] ? "(none)" : "given") are not allowed. "
          + problem.message,
        advice: "Pass options that the schema allows with --options.")
    }
    guard options["additionalProperties"] == false else {
      return .passed("\(counted(properties.count, "option")); unknown ones are accepted")
    }
    guard schema.problems(with: [Self.unknown: true]).contains(where: { $0.code == .unknownKey })
    else {
      throw CheckFailure(
        "An unknown option is not rejected.", advice: "Set “additionalProperties” to false.")
    }
    return .passed("\(counted(properties.count, "option")); unknown ones are rejected")
  }

  private func usable(_ schema: JSONValue) throws(CheckFailure) -> OptionSchema {
    do throws(ConfigurationErrors) {
      return try OptionSchema(schema)
    } catch {
      throw CheckFailure(
        "The schema can't be used. \(error.errors.first?.message ?? "")",
        advice: "Use only the keywords that docs/plugins.md lists under “Manifest”.")
    }
  }
}
