import Configuration
import Engine
import LibrarySession
import PipelineModel
import PipelinePlugin
import PluginHost

/// `pipeline plugins`: lists plugins, shows their options, tests one or creates one.
enum PluginsVerb: Verb {
  static let name = "plugins"
  static let summary = "List plugins with versions and options; check one, or begin one"
  static let operands = "[ID] | test PATH | new NAME"
  static let options = [files, withOptions, allow, language, into]
  static let examples = [
    ("pipeline plugins", "all plugins found"),
    ("pipeline plugins thumbnail", "one, with the schema of its options"),
    ("pipeline plugins test colour/colour.py --files ~/Pictures", "run all conformance checks"),
    ("pipeline plugins test command.so --allow exec", "with the permissions of its stage"),
    ("pipeline plugins new colour --language python", "a folder with a working plugin"),
  ]

  static func run(_ context: Context) throws -> ExitCode {
    switch context.arguments.operands.first?.utf8 {
    case "new":
      try refuse([files, withOptions, allow], of: "test", context)
      return try makeNew(context)
    case "test":
      try refuse([language, into], of: "new", context)
      return try test(context)
    default:
      try refuse([language, into], of: "new", context)
      try refuse([files, withOptions, allow], of: "test", context)
      try context.expectOperands(atMost: 1)
      return try look(context)
    }
  }

  /// Rejects options of another subcommand.
  private static func refuse(
    _ options: [Option], of word: String, _ context: Context
  ) throws(UsageError) {
    for option in options where context.arguments.path(option) != nil {
      throw UsageError("\(option.name) is for `pipeline plugins \(word)`.", verb: name)
    }
  }

  private static func look(_ context: Context) throws -> ExitCode {
    // Without a configuration only the standard folders are searched.
    let listed = try ListedPlugin.all(LibrarySetup.ifPresent(context.search)?.configuration)
    guard let id = context.arguments.operands.first else {
      let asked = listed.map { $0.ask() }
      for (plugin, description) in zip(listed, asked) {
        list(plugin, description, context.console)
      }
      return .success
    }
    let chosen = listed.filter { $0.id == id.description }
    guard !chosen.isEmpty else {
      let meant = NearestName.hint(
        id.description, among: Set(listed.map(\.id)).sorted(), kind: "plugins")
      throw EngineError(.plugin, "There is no plugin “\(id.printable)”\(meant)")
    }
    for plugin in chosen { show(plugin, try plugin.ask().get().manifest(), context.console) }
    return .success
  }

  /// Lists a plugin; for an unusable one, with the reason.
  private static func list(
    _ plugin: ListedPlugin, _ description: Result<ManifestQuery, PluginFailure>,
    _ console: Console
  ) {
    do throws(PluginFailure) {
      let manifest = try description.get().manifest()
      if console.isJSON {
        console.event("plugin", members(plugin, manifest))
      } else {
        console.result(line(plugin, manifest))
      }
    } catch {
      guard console.isJSON else {
        return console.result("\(plugin.id)\t\(plugin.place)\tunusable: \(error.reason)")
      }
      var members: [String: JSONValue] = ["usable": false, "reason": .string(error.reason)]
      members.merge(Self.members(plugin)) { $1 }
      console.event("plugin", members)
    }
  }

  private static func show(_ plugin: ListedPlugin, _ manifest: PluginManifest, _ console: Console) {
    if console.isJSON { return console.event("plugin", members(plugin, manifest)) }
    console.result(line(plugin, manifest))
    let accepts = manifest.accepts?.joined(separator: ", ") ?? "everything"
    console.result("scope    \(manifest.scope.rawValue)")
    console.result("accepts  \(accepts)")
    console.result("runs     \(plugin.placeOfWork)")
    for permission in plugin.permissions { console.result("may      \(permission)") }
    console.result("options")
    // Decoded from JSON, so it can be encoded.
    console.result(lines: (try? JSONText.encodePretty(manifest.options)) ?? "")
  }

  private static func line(_ plugin: ListedPlugin, _ manifest: PluginManifest) -> String {
    let words = [
      manifest.id, manifest.version, plugin.place, manifest.runtime, plugin.placeOfWork,
    ]
    return (words + plugin.permissions).joined(separator: "\t")
  }

  /// The JSON members that are known without starting it.
  private static func members(_ plugin: ListedPlugin) -> [String: JSONValue] {
    let allowance = plugin.allowance
    var members: [String: JSONValue] = [
      "id": .string(plugin.id), "isolation": .string(plugin.isolation.rawValue),
      "allow": [
        "network": .bool(allowance.network), "exec": .bool(allowance.exec),
        "read": .array(allowance.read.map { .string($0.description) }),
        "write": .array(allowance.write.map { .string($0.description) }),
      ],
    ]
    switch plugin.origin {
    case .library(let path):
      members["carrier"] = "library"
      members.merge(JSONMembers.path(path)) { $1 }
    case .command(let words, let stage):
      members["carrier"] = "executable"
      members["stage"] = .string(stage)
      members["command"] = .array(words.map { .string($0) })
      members.merge(JSONMembers.path(BytePath(words.first ?? ""))) { $1 }
    }
    return members
  }

  /// The JSON members including the manifest's.
  private static func members(
    _ plugin: ListedPlugin, _ manifest: PluginManifest
  ) -> [String: JSONValue] {
    members(plugin).merging([
      "id": .string(manifest.id), "usable": true, "version": .string(manifest.version),
      "outputVersion": .integer(manifest.outputVersion),
      "scope": .string(manifest.scope.rawValue), "runtime": .string(manifest.runtime),
      "accepts": manifest.accepts.map { .array($0.map { .string($0) }) } ?? .null,
      "options": manifest.options,
    ]) { $1 }
  }
}
