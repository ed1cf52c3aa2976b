package import Catalog
package import Configuration
import Hashing
import PipelineModel
import PipelinePlugin

/// The configured stages with their plugins, in the order in which they can run.
package struct StagePlan: Sendable {
  /// One stage, ready to run.
  package struct Stage: Sendable {
    package let configuration: StageConfiguration
    package let carrier: any Carrier
    package let definition: StageDefinition
    /// The memory of a job where the configuration says nothing.
    let memoryShare: ByteSize

    package var name: String { configuration.name }

    /// The options with the defaults of the plugin's schema filled in.
    var options: JSONValue {
      configuration.options.fillingDefaults(carrier.manifest.options)
    }

    /// Whether the plugin can work on this type.
    func accepts(_ mediaType: MediaType) -> Bool {
      carrier.manifest.accepts?.contains { mediaType.matches($0) } ?? true
    }
  }

  /// The plugin that every stage needs whose plugin says what it accepts.
  package static let identifier = "identify"

  /// The stages in topological order.
  package let stages: [Stage]

  /// Asks the plugins what they are, and works out needs, scopes and fingerprints.
  ///
  /// - Throws: `ConfigurationErrors` for a plugin or an option that is not
  ///   known, `EngineError` for a plugin that can't be used.
  package init(_ configuration: PipelineConfiguration, finder: PluginFinder) throws {
    let plugins = try StagePlugins(configuration, finder: finder)
    try self.init(configuration, carriers: plugins.carriers) { try plugins.identify() }
  }

  /// Works out needs, scopes and fingerprints of stages whose plugins are known.
  ///
  /// - Parameters:
  ///   - carriers: the plugins of the configured stages, by the stages' names.
  ///   - identify: gives the plugin that identifies, where one is needed.
  init(
    _ configuration: PipelineConfiguration, carriers: [String: any Carrier],
    identify load: () throws -> any Carrier
  ) throws {
    var carriers = carriers
    let identifying = Self.identifyingStage(configuration.stages)
    let schemas = Dictionary(
      configuration.stages.compactMap { stage in
        carriers[stage.name].map { (stage.plugin, $0.manifest.options) }
      }, uniquingKeysWith: { first, _ in first })
    let problems = configuration.problems(plugins: schemas) {
      [carriers] in Self.needs(of: $0, carriers: carriers, identify: identifying)
    }
    if let errors = ConfigurationErrors(problems) { throw errors }
    var listed = configuration.stages
    let identify = try Self.ensureIdentify(&listed, carriers: &carriers, load: load)
    let needs = Dictionary(
      uniqueKeysWithValues: listed.map {
        ($0.name, Self.needs(of: $0, carriers: carriers, identify: identify))
      })
    let graph = try StageGraph(listed.map { .init(name: $0.name, needs: needs[$0.name] ?? []) })
    var made: [String: Stage] = [:]
    var stages: [Stage] = []
    for name in graph.order {
      guard let stage = listed.first(where: { $0.name == name }), let carrier = carriers[name]
      else { continue }
      let needed = (needs[name] ?? []).compactMap { made[$0] }
      let prepared = Stage(
        configuration: stage, carrier: carrier,
        definition: try Self.define(
          stage, carrier.manifest, needed: needed,
          memory: PipelineConfiguration.memoryShare(
            of: Self.recorded(configuration.memoryBudget), stages: configuration.stages.count)),
        memoryShare: configuration.memoryShare)
      made[name] = prepared
      stages.append(prepared)
    }
    self.stages = stages
  }

  /// The name of the stage that identifies, whether it is configured or would be added.
  private static func identifyingStage(_ stages: [StageConfiguration]) -> String {
    if let stage = stages.first(where: { $0.plugin == identifier }) { return stage.name }
    let isTaken = stages.contains { $0.name == identifier }
    return isTaken ? identifier + "-implicit" : identifier
  }

  /// Adds a stage for `identify` where one is needed and none is configured.
  ///
  /// - Returns: the name of the stage that identifies.
  private static func ensureIdentify(
    _ stages: inout [StageConfiguration], carriers: inout [String: any Carrier],
    load: () throws -> any Carrier
  ) throws -> String? {
    let name = identifyingStage(stages)
    if stages.contains(where: { $0.name == name }) { return name }
    guard stages.contains(where: { carriers[$0.name]?.manifest.accepts != nil }) else {
      return nil
    }
    carriers[name] = try load()
    stages.insert(StageConfiguration(name: name, plugin: identifier), at: 0)
    return name
  }

  private static func needs(
    of stage: StageConfiguration, carriers: [String: any Carrier], identify: String?
  ) -> [String] {
    guard let identify, identify != stage.name, !stage.needs.contains(identify),
      carriers[stage.name]?.manifest.accepts != nil
    else { return stage.needs }
    return [identify] + stage.needs
  }

  private static func define(
    _ stage: StageConfiguration, _ manifest: PluginManifest, needed: [Stage], memory: ByteSize
  ) throws -> StageDefinition {
    var limits = stage.limits
    // A worker without a limit of its own may use its stage's share.
    if stage.isolation == .process { limits.memory = limits.memory ?? memory }
    return StageDefinition(
      name: stage.name, plugin: stage.plugin,
      fingerprint: try fingerprint(stage, manifest, needed: needed),
      isAssetScoped: isAssetScoped(stage, manifest)
        || needed.contains { $0.definition.isAssetScoped },
      needs: needed.map(\.name), attempts: stage.attempts,
      runtime: "\(manifest.id) \(manifest.version); \(manifest.runtime)",
      limits: try JSONText.encode(limits.effective()), accepts: manifest.accepts)
  }

  /// Whether a stage's own results depend on the asset, by its plugin or by its options.
  private static func isAssetScoped(
    _ stage: StageConfiguration, _ manifest: PluginManifest
  ) -> Bool {
    guard manifest.scope == .original else { return true }
    let changed = stage.options.removingDefaults(manifest.options).object ?? [:]
    return manifest.assetOptions.contains { changed[$0] != nil }
  }

  /// SHA-256 over all that the output depends on besides the bytes, as
  /// `docs/format.md` specifies it.
  static func fingerprint(
    _ stage: StageConfiguration, _ manifest: PluginManifest, needed: [Stage]
  ) throws -> Fingerprint {
    let content: JSONValue = [
      "plugin": .string(manifest.id),
      "outputVersion": .integer(manifest.outputVersion),
      "options": stage.options.removingDefaults(manifest.options).canonical,
      "needs": .array(
        needed.map(\.definition.fingerprint.digest.hex).sorted().map { .string($0) }),
    ]
    return Fingerprint(SHA256.digest(of: Array(try JSONText.encode(content).utf8)))
  }

  /// What is recorded of a `memoryBudget`: where that is the default, to an eighth of the power of
  /// two below, because another kernel leaves a little more or less of the same memory.
  static func recorded(
    _ budget: ByteSize, standard: ByteSize = PipelineConfiguration.standardMemoryBudget
  ) -> ByteSize {
    guard budget == standard, budget.bytes >= 16 else { return budget }
    let step = 1 << (Int.bitWidth - budget.bytes.leadingZeroBitCount - 4)
    return ByteSize(bytes: (budget.bytes + step / 2) / step * step)
  }
}
