import Configuration
import Engine
import PipelineModel
import PipelinePlugin
import PluginHost

/// A plugin that the configuration can use, or that a stage of it starts by a command.
struct ListedPlugin {
  let id: String
  /// Its file, or its command.
  let place: String
  /// Where it is run: `process` or `none`.
  let isolation: String
  /// The same for people.
  var placeOfWork: String { isolation == "none" ? "in the program itself" : "in a worker" }
  /// What a stage allows it beyond the sandbox, each as a few words.
  var permissions: [String] { Self.words(allowance) }
  /// What can be said of it without asking it.
  private(set) var members: [String: JSONValue]

  private let allowance: StageAllowance
  private let program: Result<WorkerProgram, PluginFailure>

  /// Finds all, and starts none.
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

  /// Asks it what it is; the answer is waited for later, so that many can be asked side by side.
  func ask() -> Result<WorkerDescription, PluginFailure> { program.map { WorkerDescription($0) } }

  /// One line for people.
  func line(_ manifest: PluginManifest) -> String {
    ([manifest.id, manifest.version, place, manifest.runtime, placeOfWork] + permissions)
      .joined(separator: "\t")
  }

  /// All that is known of it.
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
