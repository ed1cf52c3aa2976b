package import Configuration
import PipelineModel
import PipelinePlugin
import PluginHost
import Records

/// The plugins of the configured stages, with their manifests.
struct StagePlugins {
  struct Fault {
    enum Cause {
      /// No folder has the plugin.
      case missing
      /// Others could replace the plugin.
      case untrusted
      /// Options can't be checked against the plugin's schema.
      case schema
      case other
    }

    let cause: Cause
    let failure: PluginFailure
  }

  /// The usable plugins, by stage name.
  private(set) var backends: [String: any PluginBackend] = [:]
  /// Why the others are unusable, by stage name.
  private(set) var faults: [String: Fault] = [:]
  private let finder: PluginFinder
  private let configuration: PipelineConfiguration

  /// Finds the plugins and reads their manifests concurrently.
  init(_ configuration: PipelineConfiguration, finder: PluginFinder) {
    self.finder = finder
    self.configuration = configuration
    let secrets = PluginSecrets(configuration)
    var queries: [WorkerLaunch.Plugin: ManifestQuery] = [:]
    var programs: [String: WorkerProgram] = [:]
    for stage in configuration.stages where stage.isolation == .process {
      do throws(PluginFailure) {
        let program = try Self.program(of: stage, finder: finder, secrets: secrets)
        programs[stage.name] = program
        if queries[program.plugin] == nil {
          queries[program.plugin] = ManifestQuery(program)
        }
      } catch {
        note(error, of: stage)
      }
    }
    for stage in configuration.stages where faults[stage.name] == nil {
      do throws(PluginFailure) {
        let backend: any PluginBackend
        if let program = programs[stage.name], let query = queries[program.plugin] {
          backend = try Self.backend(of: stage, program, query)
        } else {
          backend = try LibraryBackend(path: try finder.find(stage.plugin))
        }
        let schema = backend.manifest.options
        if let fault = OptionSchema.fault(in: schema, ofPlugin: stage.plugin) {
          faults[stage.name] = Fault(cause: .schema, failure: PluginFailure(.environment, fault))
        }
        backends[stage.name] = backend
      } catch {
        note(error, of: stage)
      }
    }
  }

  private mutating func note(_ failure: PluginFailure, of stage: StageConfiguration) {
    let cause: Fault.Cause
    if let command = stage.command {
      // A relative one is looked up within the sandbox.
      let isReplaceable = command.first.map { BytePath($0) }.map {
        $0.isAbsolute && PluginTrust.isReplaceable($0)
      }
      cause = isReplaceable == true ? .untrusted : .other
    } else if finder.hasNo(stage.plugin) {
      cause = .missing
    } else {
      cause = finder.isReplaceable(stage.plugin) ? .untrusted : .other
    }
    faults[stage.name] = Fault(cause: cause, failure: failure)
  }

  /// The identifying plugin, if no stage names it.
  func identify() throws(PluginFailure) -> any PluginBackend {
    try WorkerBackend(
      WorkerProgram(
        .library(try finder.find(StagePlan.identifier)), secrets: PluginSecrets(configuration)))
  }

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

  private static func backend(
    of stage: StageConfiguration, _ program: WorkerProgram, _ query: ManifestQuery
  ) throws(PluginFailure) -> WorkerBackend {
    let backend = WorkerBackend(program, manifest: try query.manifest())
    guard backend.manifest.id == stage.plugin else {
      throw PluginFailure(
        .environment,
        "The plugin of the stage \(stage.name) says that it is “\(backend.manifest.id)”, not "
          + "“\(stage.plugin)”: correct “plugin” in the configuration.")
    }
    return backend
  }
}

/// Stands in for an unusable plugin, so that its stage stays in the plan and its jobs wait.
struct BrokenBackend: PluginBackend {
  let manifest: PluginManifest
  /// The stage as recorded when the plugin last worked; `nil` if it never did.
  let recorded: StageDefinition?
  let failure: PluginFailure

  init(plugin: String, recorded: StageDefinition?, failure: PluginFailure) {
    // Real output versions start at 1, so this one never matches another plugin's work.
    manifest = PluginManifest(
      id: plugin, version: "", outputVersion: 0,
      scope: recorded?.isAssetScoped == true ? .asset : .original, options: ["type": "object"],
      accepts: recorded?.accepts)
    self.recorded = recorded
    self.failure = failure
  }

  func makeInstance(options: JSONValue, context: InstanceContext) throws(PluginFailure)
    -> any PluginInstance
  {
    throw failure
  }
}

/// A stage whose plugin can't be used.
package struct StageFault: Error {
  package let message: String
  /// The JSON pointer into the configuration; `nil` for an implicit stage.
  package let pointer: String?

  /// - Returns: `nil` for a stage that can run.
  package init?(_ stage: StagePlan.Stage, in configuration: PipelineConfiguration) {
    guard let fault = stage.fault else { return nil }
    message =
      "The stage “\(stage.name)” can't run: its plugin is “\(stage.configuration.plugin)”. "
      + fault.reason
    pointer = configuration.stages.firstIndex { $0.name == stage.name }.map {
      "/stages/\($0)/\(stage.configuration.command == nil ? "plugin" : "command")"
    }
  }
}
