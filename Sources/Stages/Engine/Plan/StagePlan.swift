package import Configuration
import Dispatch
import Hashing
package import PipelineModel
package import PipelinePlugin
package import PluginHost
package import Records

/// The configured stages with their plugins, in execution order.
package struct StagePlan: Sendable {
  /// One stage, ready to run.
  package struct Stage: Sendable {
    package let configuration: StageConfiguration
    package let backend: any PluginBackend
    package let definition: StageDefinition
    /// The memory limit of a job if the configuration sets none.
    let memoryShare: ByteSize

    /// Why the plugin is unusable, so that the stage's jobs can't run; otherwise `nil`.
    package var fault: PluginFailure? { (backend as? BrokenBackend)?.failure }

    package var name: String { configuration.name }

    /// The options, with defaults from the plugin's schema filled in.
    package var options: JSONValue {
      configuration.options.fillingDefaults(backend.manifest.options)
    }

    /// The names of facts that have a member for each part of the options.
    var factsOfParts: [String] { backend.manifest.parts?.facts ?? [] }

    /// Whether the plugin makes renditions of those that are kept.
    var readsKept: Bool { backend.manifest.parts?.kept ?? false }

    /// Creates a plugin instance as for a job, and discards it.
    ///
    /// - Parameter work: a folder to work in.
    package func tryOptions(work: BytePath) throws(PluginFailure) {
      let context = InstanceContext(
        queue: DispatchQueue(label: "pipeline.options"), memoryShare: memoryShare, work: work)
      _ = try backend.makeInstance(options: options, context: context)
    }

    func accepts(_ mediaType: MediaType) -> Bool {
      definition.accepts?.contains { mediaType.matches($0) } ?? true
    }

    /// The result for a type that is not accepted.
    ///
    /// - Parameter mediaType: empty if it is unknown.
    func refusal(of mediaType: String) -> FinishedJob.Result {
      let lack = backend.manifest.lacks.first { lack in
        lack.accepts.contains { MediaType(rawValue: mediaType).matches($0) }
      }
      let type = mediaType.isEmpty ? "files of an unknown type" : mediaType
      let isOwn = configuration.accepts?.contains(where: MediaType(rawValue: mediaType).matches)
      if isOwn == false {
        return .skipped(
          reason: "The “accepts” of the stage \(configuration.name) leaves out \(type).",
          class: .permanent)
      }
      if let lack { return .skipped(reason: lack.reason, class: .environment) }
      return .skipped(reason: "The plugin \(configuration.plugin) does not work on \(type).")
    }
  }

  /// The plugin required by every stage whose plugin restricts the types that it accepts.
  package static let identifier = "identify"

  /// The stages in topological order.
  package let stages: [Stage]

  /// Names of the stages that can't run: their plugin can't be used, or a stage that they need
  /// can't run.
  package var held: Set<String> {
    stages.reduce(into: []) { held, stage in
      if stage.fault != nil || !held.isDisjoint(with: stage.definition.needs) {
        held.insert(stage.name)
      }
    }
  }

  /// Loads the plugins' manifests and derives needs, scopes and fingerprints.
  ///
  /// A stage with an unusable plugin is in the plan, with its fault, unless the library has never
  /// worked with the plugin and it is missing, untrusted, or has no usable schema.
  ///
  /// - Parameter recorded: returns the stages recorded in the library; called only if a plugin is
  ///   unusable.
  /// - Throws: `ConfigurationErrors` for unknown options, and for new plugins that are missing or
  ///   have no usable schema; `EngineError` for new plugins that others could replace.
  package init(
    _ configuration: PipelineConfiguration, finder: PluginFinder,
    recorded: () throws -> [StageDefinition] = { [] }
  ) throws {
    let plugins = StagePlugins(configuration, finder: finder)
    let known = plugins.faults.isEmpty ? [] : try recorded()
    func definition(_ name: String, _ plugin: String) -> StageDefinition? {
      known.first { $0.name == name && $0.plugin == plugin }
    }
    let broken = configuration.stages.compactMap { stage in
      plugins.faults[stage.name].map { (stage: stage, fault: $0) }
    }
    let new = broken.filter { stage, _ in !known.contains { $0.plugin == stage.plugin } }
    if let (stage, fault) = new.first(where: { $0.fault.cause == .untrusted }) {
      throw EngineError(
        .plugin, "The stage “\(stage.name)” can't run. \(fault.failure.reason)",
        cause: fault.failure)
    }
    try Self.requireFound(
      new.filter { $0.fault.cause == .missing }.map(\.stage.plugin), in: configuration, finder)
    var backends = plugins.backends
    // A new plugin without a usable schema keeps its backend, so the schema is reported below.
    let unusable = new.filter { $0.fault.cause == .schema }.map(\.stage.name)
    for (stage, fault) in broken where !unusable.contains(stage.name) {
      backends[stage.name] = BrokenBackend(
        plugin: stage.plugin, recorded: definition(stage.name, stage.plugin),
        failure: fault.failure)
    }
    try self.init(configuration, backends: backends) {
      do throws(PluginFailure) {
        return try plugins.identify()
      } catch {
        let known = try recorded().first { $0.plugin == Self.identifier }
        return BrokenBackend(plugin: Self.identifier, recorded: known, failure: error)
      }
    }
  }

  /// Derives needs, scopes and fingerprints of stages whose plugins are known.
  ///
  /// - Parameters:
  ///   - backends: the plugins of the configured stages, by stage name.
  ///   - identify: returns the identifying plugin, if one is needed.
  init(
    _ configuration: PipelineConfiguration, backends: [String: any PluginBackend],
    identify load: () throws -> any PluginBackend
  ) throws {
    var backends = backends
    let identifying = Self.identifyingStage(configuration.stages)
    // A plugin that is broken in one stage may work in another, and has a schema there.
    let schemas = Dictionary(
      configuration.stages.compactMap { stage in
        backends[stage.name].map { (stage.plugin, $0) }
      }, uniquingKeysWith: { $0 is BrokenBackend ? $1 : $0 }
    ).mapValues { $0.manifest.options }
    let problems = configuration.problems(plugins: schemas) {
      [backends] in Self.needs(of: $0, backends: backends, identify: identifying)
    }
    let inputProblems = configuration.inputProblems { [backends] stage in
      guard let backend = backends[stage.name], !(backend is BrokenBackend) else { return nil }
      return backend.manifest.renditionNames(
        options: stage.options.fillingDefaults(backend.manifest.options))
    }
    if let errors = ConfigurationErrors(problems + inputProblems) { throw errors }
    var listed = configuration.stages
    let identify = try Self.ensureIdentify(&listed, backends: &backends, load: load)
    let needs = Dictionary(
      uniqueKeysWithValues: listed.map {
        ($0.name, Self.needs(of: $0, backends: backends, identify: identify))
      })
    let graph = try StageGraph(listed.map { .init(name: $0.name, needs: needs[$0.name] ?? []) })
    var made: [String: Stage] = [:]
    var stages: [Stage] = []
    for name in graph.order {
      guard let stage = listed.first(where: { $0.name == name }), let backend = backends[name]
      else { continue }
      let needed = (needs[name] ?? []).compactMap { made[$0] }
      let prepared = Stage(
        configuration: stage, backend: backend,
        definition: try Self.define(
          stage, backend, needed: needed,
          memory: PipelineConfiguration.memoryShare(
            of: Self.recorded(configuration.memoryBudget), stages: configuration.stages.count)),
        memoryShare: configuration.memoryShare)
      made[name] = prepared
      stages.append(prepared)
    }
    self.stages = stages
  }

  /// Returns how to start a stage's workers, without asking the plugin for its manifest.
  ///
  /// - Throws: `PluginFailure` of class `environment` if the plugin must not be started.
  package static func program(
    of stage: StageConfiguration, in configuration: PipelineConfiguration, finder: PluginFinder
  ) throws(PluginFailure) -> WorkerProgram {
    try StagePlugins.program(of: stage, finder: finder, secrets: PluginSecrets(configuration))
  }

  /// Whether any plugin that was unusable when the plan was made works now; starts those plugins
  /// and waits for their answers.
  package func isMended(_ configuration: PipelineConfiguration, finder: PluginFinder) -> Bool {
    var asked = configuration
    let broken = Set(stages.filter { $0.fault != nil }.map(\.name))
    asked.stages = configuration.stages.filter { broken.contains($0.name) }
    let plugins = StagePlugins(asked, finder: finder)
    if asked.stages.contains(where: { plugins.faults[$0.name] == nil }) { return true }
    // The implicit identifying stage is not in the configuration.
    return asked.stages.count < broken.count && (try? plugins.identify()) != nil
  }

  /// Throws `ConfigurationErrors` that name the nearest plugins, if any plugins are missing.
  private static func requireFound(
    _ missing: [String], in configuration: PipelineConfiguration, _ finder: PluginFinder
  ) throws {
    if missing.isEmpty { return }
    let found: [String]
    do throws(PluginFailure) {
      found = try finder.all().map(\.id)
    } catch {
      throw EngineError(.plugin, error.reason, cause: error)
    }
    let others = configuration.stages.map(\.plugin).filter { !missing.contains($0) }
    let problems = configuration.problems(
      plugins: Dictionary(uniqueKeysWithValues: Set(found + others).map { ($0, [:]) })
    ).filter { $0.code == .unknownPlugin }
    if let errors = ConfigurationErrors(problems) { throw errors }
  }

  /// The name of the identifying stage, configured or implicit.
  private static func identifyingStage(_ stages: [StageConfiguration]) -> String {
    if let stage = stages.first(where: { $0.plugin == identifier }) { return stage.name }
    let isTaken = stages.contains { $0.name == identifier }
    return isTaken ? identifier + "-implicit" : identifier
  }

  /// Adds a stage for `identify` if one is needed and none is configured.
  ///
  /// - Returns: the name of the identifying stage.
  private static func ensureIdentify(
    _ stages: inout [StageConfiguration], backends: inout [String: any PluginBackend],
    load: () throws -> any PluginBackend
  ) throws -> String? {
    let name = identifyingStage(stages)
    if stages.contains(where: { $0.name == name }) { return name }
    guard stages.contains(where: { accepted(by: $0, backends[$0.name]) != nil }) else {
      return nil
    }
    backends[name] = try load()
    stages.insert(StageConfiguration(name: name, plugin: identifier), at: 0)
    return name
  }

  private static func needs(
    of stage: StageConfiguration, backends: [String: any PluginBackend], identify: String?
  ) -> [String] {
    guard let identify, identify != stage.name, !stage.allNeeds.contains(identify),
      accepted(by: stage, backends[stage.name]) != nil
    else { return stage.allNeeds }
    return [identify] + stage.allNeeds
  }

  /// The media types that a stage works on: those of its plugin that it accepts itself; `nil` for all.
  static func accepted(
    by stage: StageConfiguration, _ backend: (any PluginBackend)?
  ) -> [String]? {
    guard let own = stage.accepts else { return backend?.manifest.accepts }
    guard let accepted = backend?.manifest.accepts else { return own }
    let matching = own.flatMap { pattern in
      accepted.compactMap { other in
        MediaType(rawValue: pattern).matches(other)
          ? pattern : MediaType(rawValue: other).matches(pattern) ? other : nil
      }
    }
    return Set(matching).sorted()
  }

  private static func define(
    _ stage: StageConfiguration, _ backend: any PluginBackend, needed: [Stage], memory: ByteSize
  ) throws -> StageDefinition {
    let manifest = backend.manifest
    let broken = backend as? BrokenBackend
    var limits = stage.limits
    // A worker without its own limit may use the stage's share.
    if stage.isolation == .process { limits.memory = limits.memory ?? memory }
    return StageDefinition(
      name: stage.name, plugin: stage.plugin,
      // Finished work stays valid while the plugin is broken.
      fingerprint: try broken?.recorded?.fingerprint
        ?? fingerprint(stage, manifest, needed: needed),
      options: broken?.recorded.map(\.options) ?? fingerprinted(stage, manifest),
      isAssetScoped: isAssetScoped(stage, manifest)
        || needed.contains { $0.definition.isAssetScoped },
      needs: needed.map(\.name), input: stage.input, alternatives: stage.alternatives,
      attempts: stage.attempts,
      runtime: broken?.recorded?.runtime
        ?? "\(manifest.id) \(manifest.version); \(manifest.runtime)",
      limits: try JSONText.encode(limits.effective()), accepts: accepted(by: stage, backend),
      held: broken?.failure.reason, parts: try parts(of: stage, manifest, needed: needed))
  }

  /// The fingerprint that the stage would have with one element of its list of parts, by the name of
  /// the rendition; empty if its plugin has no such list.
  private static func parts(
    of stage: StageConfiguration, _ manifest: PluginManifest, needed: [Stage]
  ) throws -> [String: Fingerprint] {
    guard let option = manifest.parts?.option else { return [:] }
    let options = stage.options.fillingDefaults(manifest.options)
    var parts: [String: Fingerprint] = [:]
    for element in options[option]?.array ?? [] {
      // The plugin may name renditions otherwise.
      guard let name = element["name"]?.string, parts[name] == nil else { return [:] }
      var alone = stage
      alone.options = .object(
        (stage.options.object ?? [:]).merging([option: .array([element])]) { $1 })
      parts[name] = try fingerprint(alone, manifest, needed: needed)
    }
    return parts
  }

  /// Whether a stage's own results depend on the asset, through its plugin or its options.
  private static func isAssetScoped(
    _ stage: StageConfiguration, _ manifest: PluginManifest
  ) -> Bool {
    guard manifest.scope == .original else { return true }
    let changed = stage.options.removingDefaults(manifest.options).object ?? [:]
    return manifest.assetOptions.contains { changed[$0] != nil }
  }

  /// SHA-256 over everything besides the input bytes that affects the output; see `docs/format.md`.
  static func fingerprint(
    _ stage: StageConfiguration, _ manifest: PluginManifest, needed: [Stage]
  ) throws -> Fingerprint {
    var content: [String: JSONValue] = [
      "plugin": .string(manifest.id),
      "outputVersion": .integer(manifest.outputVersion),
      "options": fingerprinted(stage, manifest),
      "needs": .array(
        needed.map(\.definition.fingerprint.digest.hex).sorted().map { .string($0) }),
    ]
    if !stage.input.isEmpty {
      content["input"] = .array(
        stage.input.map { input in
          let maker = needed.first { $0.name == input.stage }?.definition.fingerprint.digest.hex
          return .string("\(maker ?? "")/\(input.name)")
        })
    }
    let text = try JSONText.encode(JSONValue.object(content))
    return Fingerprint(SHA256.digest(of: Array(text.utf8)))
  }

  private static func fingerprinted(
    _ stage: StageConfiguration, _ manifest: PluginManifest
  ) -> JSONValue {
    stage.options.removingDefaults(manifest.options).canonical
  }

  /// The `memoryBudget` to record. The default is rounded to an eighth of the next lower power of
  /// two, because kernels differ slightly in how much of the same memory they leave.
  static func recorded(
    _ budget: ByteSize, standard: ByteSize = PipelineConfiguration.standardMemoryBudget
  ) -> ByteSize {
    guard budget == standard, budget.bytes >= 16 else { return budget }
    let step = 1 << (Int.bitWidth - budget.bytes.leadingZeroBitCount - 4)
    return ByteSize(bytes: (budget.bytes + step / 2) / step * step)
  }
}
