import Configuration
import PipelineModel
import PipelinePlugin
import PluginHost

/// Its manifest is valid.
struct ManifestContentCheck: PluginCheck {
  let name = "manifest"

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard let manifest = bench.manifest else { return .skipped("there is none") }
    if let fault = ManifestCheck.fault(in: manifest) {
      throw CheckFailure(
        "Its manifest is one in which \(fault).", advice: "See “Manifest” in docs/plugins.md.")
    }
    if case .library(let path) = bench.plugin {
      let wanted = BytePath("libpipeline-\(manifest.id).so")
      guard path.lastComponent == wanted else {
        throw CheckFailure(
          "The library is named \(path.lastComponent.printable), but its id is “\(manifest.id)”.",
          advice: "Name it \(wanted.printable): the program looks for that name.")
      }
    }
    guard Set(manifest.facts).count == manifest.facts.count else {
      throw CheckFailure(
        "Its manifest names a fact twice.", advice: "Name each fact once under “facts”.")
    }
    let accepts = manifest.accepts?.joined(separator: ", ") ?? "everything"
    return .passed("“\(manifest.id)” \(manifest.version), for \(accepts)")
  }
}

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

/// Its memory estimates are plausible.
struct EstimateCheck: PluginCheck {
  let name = "estimates"

  /// More memory than any job gets: a tebibyte.
  private static let most = 1 << 40

  func run(_ bench: CheckBench) throws(CheckFailure) -> CheckNote {
    guard bench.manifest?.estimates == true else {
      return .skipped("the manifest says that it makes none")
    }
    var facts: [[String: JSONValue]] = bench.accepted.map { ["identify": $0.facts] }
    facts.append([:])
    let figures = try bench.startReady().estimate(facts)
    guard figures.count == facts.count else {
      throw CheckFailure(
        "It was asked for \(facts.count) estimates and gave \(figures.count).",
        advice: "Return one for each, in order, and null where there is none.")
    }
    if let figure = figures.compactMap(\.self).first(where: { !(0...Self.most).contains($0) }) {
      throw CheckFailure(
        "It estimates that a job needs \(figure) bytes.",
        advice: "Return bytes of memory, or null if unknown.")
    }
    guard figures.contains(where: { $0 != nil }) else {
      throw CheckFailure(
        "It gave no estimate for any of \(counted(facts.count, "file")).",
        advice: "Set “estimates” to false in the manifest, or return estimates.")
    }
    return .passed("up to \(ByteSize(bytes: figures.compactMap(\.self).max() ?? 0))")
  }
}
