import Configuration
import Engine
import PipelineModel
import PipelinePlugin

/// `pipeline plugins`: what plugins there are, what options they have, and whether one is sound.
enum PluginsVerb: Verb {
  static let name = "plugins"
  static let summary = "List plugins with versions and options; check one, or begin one"
  static let operands = "[ID] | test PATH | new NAME"
  static let options = [files, withOptions, language, into]
  static let examples = [
    ("pipeline plugins", "all that are found"),
    ("pipeline plugins thumbnail", "one, with the schema of its options"),
    ("pipeline plugins test colour/colour.py --files ~/Pictures", "does it do as a plugin must?"),
    ("pipeline plugins new colour --language python", "a folder with a plugin that works"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    switch context.arguments.operands.first?.utf8 {
    case "new":
      try refuse([files, withOptions], of: "test", context)
      return try makeNew(context)
    case "test":
      try refuse([language, into], of: "new", context)
      return try test(context)
    default:
      try refuse([language, into], of: "new", context)
      try refuse([files, withOptions], of: "test", context)
      try context.expectOperands(atMost: 1)
      return try look(context)
    }
  }

  /// Refuses options that belong to another of the verb's words.
  private static func refuse(
    _ options: [Option], of word: String, _ context: Context
  ) throws(UsageError) {
    for option in options where context.arguments.path(option) != nil {
      throw UsageError("\(option.name) is for `pipeline plugins \(word)`.", verb: name)
    }
  }

  private static func look(_ context: Context) throws -> ExitCode {
    // Without a configuration only the standard folders are looked into.
    let configured = try folders(context)
    let finder = PluginFinder(configured: configured)
    do throws(PluginFailure) {
      if let id = context.arguments.operands.first {
        let known = try finder.all().map(\.id)
        guard known.contains(id.description) else {
          let meant = NearestName.hint(id.description, among: known, kind: "plugins")
          throw PluginFailure(.environment, "There is no plugin “\(id.printable)”\(meant)")
        }
        try show(finder.find(id.description), context.console, withOptions: true)
      } else {
        for found in try finder.all() { list(found, context.console) }
      }
    } catch {
      throw EngineError(.plugin, error.reason, cause: error)
    }
    return .success
  }

  private static func folders(_ context: Context) throws -> [BytePath] {
    do {
      return try Surroundings(context).configuration.plugins
    } catch is UsageError {
      return []
    }
  }

  /// A plugin that can't be loaded is listed with the reason; the others are listed all the same.
  private static func list(_ found: PluginFinder.Found, _ console: Console) {
    do throws(PluginFailure) {
      if let refusal = found.refusal { throw PluginFailure(.environment, refusal) }
      try show(found.path, console, withOptions: false)
    } catch {
      guard console.isJSON else {
        return console.result("\(found.id)\t\(found.path.printable)\tunusable: \(error.reason)")
      }
      var members: [String: JSONValue] = [
        "id": .string(found.id), "usable": false, "reason": .string(error.reason),
      ]
      members.merge(JSONMembers.path(found.path)) { $1 }
      console.event("plugin", members)
    }
  }

  private static func show(
    _ path: BytePath, _ console: Console, withOptions: Bool
  ) throws(PluginFailure) {
    let manifest = try LibraryCarrier(path: path).manifest
    if console.isJSON {
      var members: [String: JSONValue] = [
        "id": .string(manifest.id), "usable": true, "version": .string(manifest.version),
        "outputVersion": .integer(manifest.outputVersion),
        "scope": .string(manifest.scope.rawValue), "runtime": .string(manifest.runtime),
        "accepts": manifest.accepts.map { .array($0.map { .string($0) }) } ?? .null,
        "options": manifest.options, "carrier": "library", "isolation": "none",
      ]
      members.merge(JSONMembers.path(path)) { $1 }
      return console.event("plugin", members)
    }
    console.result(
      "\(manifest.id)\t\(manifest.version)\t\(path.printable)\t\(manifest.runtime)")
    guard withOptions else { return }
    let accepts = manifest.accepts?.joined(separator: ", ") ?? "everything"
    console.result("scope    \(manifest.scope.rawValue)")
    console.result("accepts  \(accepts)")
    console.result("options")
    console.result((try? JSONText.encodePretty(manifest.options)) ?? "")
  }
}
