import Configuration
import Engine
import PipelineModel
import PipelinePlugin
import PluginHost

/// A plugin library that was found, or a plugin that a stage starts by a command.
struct ListedPlugin {
  let id: String
  /// The file or command.
  let place: String
  /// The isolation it runs with: `process` or `none`.
  let isolation: String
  /// The isolation in words.
  var placeOfWork: String { isolation == "none" ? "in the program itself" : "in a worker" }
  /// The permissions that a stage grants beyond the sandbox, in words.
  var permissions: [String] { Self.words(allowance) }
  /// The JSON members that are known without starting it.
  private(set) var members: [String: JSONValue]

  private let allowance: StageAllowance
  private let program: Result<WorkerProgram, PluginFailure>

  /// Finds all plugins without starting any.
  static func all(_ configuration: PipelineConfiguration?) throws(PluginFailure) -> [ListedPlugin] {
    let finder = PluginFinder(configured: configuration?.plugins ?? [])
    let stages = configuration?.stages ?? []
    var plugins: [ListedPlugin] = []
    for found in try finder.all() {
      let isolations = stages.filter { $0.plugin == found.id && $0.command == nil }
      plugins.append(
        ListedPlugin(
          found, isOpen: isolations.contains { $0.isolation == .none },
          secrets: PluginSecrets(configuration)))
    }
    guard let configuration else { return plugins }
    for stage in stages where stage.command != nil {
      plugins.append(ListedPlugin(stage, configuration, finder))
    }
    return plugins
  }

  private init(_ found: PluginFinder.Found, isOpen: Bool, secrets: PluginSecrets) {
    id = found.id
    place = found.path.printable
    isolation = (isOpen ? StageConfiguration.Isolation.none : .process).rawValue
    allowance = StageAllowance()
    if let refusal = found.refusal {
      program = .failure(PluginFailure(.environment, refusal))
    } else {
      program = .success(WorkerProgram(.library(found.path), secrets: secrets))
    }
    members = JSONMembers.path(found.path)
    members["carrier"] = "library"
    addMembers()
  }

  private init(
    _ stage: StageConfiguration, _ configuration: PipelineConfiguration, _ finder: PluginFinder
  ) {
    let words = stage.command ?? []
    id = stage.plugin
    place = words.map { BytePath($0).printable }.joined(separator: " ")
    isolation = stage.isolation.rawValue
    allowance = stage.allow
    do throws(PluginFailure) {
      program = .success(try StagePlan.program(of: stage, in: configuration, finder: finder))
    } catch {
      program = .failure(error)
    }
    members = JSONMembers.path(BytePath(words.first ?? ""))
    members["carrier"] = "executable"
    members["stage"] = .string(stage.name)
    members["command"] = .array(words.map { .string($0) })
    addMembers()
  }

  private mutating func addMembers() {
    members["id"] = .string(id)
    members["isolation"] = .string(isolation)
    members["allow"] = [
      "network": .bool(allowance.network), "exec": .bool(allowance.exec),
      "read": .array(allowance.read.map { .string($0.description) }),
      "write": .array(allowance.write.map { .string($0.description) }),
    ]
  }

  /// Starts querying the manifest; the caller waits later, so that queries run concurrently.
  func ask() -> Result<ManifestQuery, PluginFailure> { program.map { ManifestQuery($0) } }

  func line(_ manifest: PluginManifest) -> String {
    ([manifest.id, manifest.version, place, manifest.runtime, placeOfWork] + permissions)
      .joined(separator: "\t")
  }

  /// The JSON members including the manifest's.
  func members(_ manifest: PluginManifest) -> [String: JSONValue] {
    members.merging([
      "id": .string(manifest.id), "usable": true, "version": .string(manifest.version),
      "outputVersion": .integer(manifest.outputVersion),
      "scope": .string(manifest.scope.rawValue), "runtime": .string(manifest.runtime),
      "accepts": manifest.accepts.map { .array($0.map { .string($0) }) } ?? .null,
      "options": manifest.options,
    ]) { $1 }
  }

  private static func words(_ allowance: StageAllowance) -> [String] {
    var words: [String] = []
    if allowance.network { words.append("use the network") }
    if allowance.exec { words.append("start programs") }
    words += allowance.read.map { "read \($0.printable)" }
    return words + allowance.write.map { "write \($0.printable)" }
  }
}
