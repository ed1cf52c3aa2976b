package import PipelineModel

/// A configured stage, as the ledger needs it.
package struct StageDefinition: Hashable, Sendable {
  package var name: String
  /// The id of the plugin.
  package var plugin: String
  package var fingerprint: Fingerprint
  /// Whether a row belongs to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Names of needed stages, implicit ones included.
  package var needs: [String]
  /// The renditions of needed stages to work on: the first that an asset has; none for the original.
  package var input: [RenditionReference]
  /// The needed stages of `input` of which one suffices: the others may fail or skip.
  package var alternatives: [String]
  /// The maximum number of attempts after transient failures or interruptions.
  package var attempts: Int
  /// Plugin and decoder versions; a change makes failures ready again.
  package var runtime: String
  /// The limits as JSON with sorted keys; a change makes failures ready again.
  package var limits: String
  /// The accepted media types, `nil` for all; a change makes rows that were
  /// skipped because of their type ready again.
  package var accepts: [String]?
  /// Why no job of the stage can run at the moment; `nil` if jobs can run.
  package var held: String?
  /// A fingerprint of what each rendition depends on, by its name, if each depends on a part of the
  /// options: one that had the same under another fingerprint of the stage is kept.
  package var parts: [String: Fingerprint]

  package init(
    name: String, plugin: String, fingerprint: Fingerprint, isAssetScoped: Bool, needs: [String],
    input: [RenditionReference] = [], alternatives: [String] = [], attempts: Int, runtime: String,
    limits: String, accepts: [String]? = nil, held: String? = nil,
    parts: [String: Fingerprint] = [:]
  ) {
    self.name = name
    self.plugin = plugin
    self.fingerprint = fingerprint
    self.isAssetScoped = isAssetScoped
    self.needs = needs
    self.input = input
    self.alternatives = alternatives
    self.attempts = attempts
    self.runtime = runtime
    self.limits = limits
    self.accepts = accepts
    self.held = held
    self.parts = parts
  }

  /// Encodes all definitions as one text, to detect changes.
  static func json(_ stages: [StageDefinition]) throws(CatalogError) -> String {
    try Catalog.json(
      JSONValue.array(
        stages.map { stage in
          var members: [String: JSONValue] = [
            "name": .string(stage.name), "plugin": .string(stage.plugin),
            "fingerprint": .string(stage.fingerprint.digest.hex),
            "isAssetScoped": .bool(stage.isAssetScoped),
            "needs": .array(stage.needs.map { .string($0) }),
            "attempts": .integer(stage.attempts), "runtime": .string(stage.runtime),
            "limits": .string(stage.limits), "accepts": stage.acceptsJSON,
          ]
          // Left out where there is none, so that the text of other stages stays the same.
          if !stage.input.isEmpty {
            members["input"] = .array(stage.input.map { .string($0.description) })
            members["alternatives"] = .array(stage.alternatives.map { .string($0) })
          }
          return .object(members)
        }))
  }

  /// Decodes the text of `json`, skipping what can't be decoded.
  static func all(json text: String) -> [StageDefinition] {
    let stages = (try? JSONText.decode(JSONValue.self, from: text))?.array ?? []
    return stages.compactMap { stage in
      guard let name = stage["name"]?.string, let plugin = stage["plugin"]?.string,
        let digest = stage["fingerprint"]?.string.flatMap({ Digest($0) }),
        let attempts = stage["attempts"]?.integer, let runtime = stage["runtime"]?.string,
        let limits = stage["limits"]?.string
      else { return nil }
      return StageDefinition(
        name: name, plugin: plugin, fingerprint: Fingerprint(digest),
        isAssetScoped: stage["isAssetScoped"]?.bool ?? false,
        needs: stage["needs"]?.array?.compactMap(\.string) ?? [],
        input: stage["input"]?.array?.compactMap { $0.string.flatMap { RenditionReference($0) } }
          ?? [],
        alternatives: stage["alternatives"]?.array?.compactMap(\.string) ?? [], attempts: attempts,
        runtime: runtime, limits: limits, accepts: stage["accepts"]?.array?.compactMap(\.string))
    }
  }

  private var acceptsJSON: JSONValue {
    accepts.map { .array($0.sorted().map { .string($0) }) } ?? .null
  }

  /// Whether the stage last accepted other types, or its last types are unknown.
  ///
  /// - Parameter known: the last definitions, as encoded by `json`.
  func acceptsOther(than known: JSONValue?) -> Bool {
    let last = known?.array?.first {
      $0["name"]?.string == name && $0["fingerprint"]?.string == fingerprint.digest.hex
    }
    return last?["accepts"] != acceptsJSON
  }
}

/// A recorded stage.
struct ConfiguredStage {
  var id: Int64
  var name: String
  /// The id of the plugin.
  var plugin: String
  /// The row ID of its fingerprint.
  var fingerprint: Int64
  /// The row ID of its versions and limits.
  var runtime: Int64
  var isAssetScoped: Bool
  var attempts: Int
  /// The row IDs of needed stages.
  var needs: Set<Int64>
  /// The renditions of needed stages to work on, each with its stage's row ID.
  var input: [(stage: Int64, reference: RenditionReference)] = []
  /// The row IDs of the needed stages of which one suffices.
  var alternatives: Set<Int64> = []

  /// Reads the configured stages, in topological order.
  static func all(_ connection: Connection) throws(CatalogError) -> [ConfiguredStage] {
    var stages = try connection.all(
      """
      SELECT id, name, plugin, fingerprint, runtime, asset_scoped, attempts FROM stage
      WHERE active = 1 ORDER BY position
      """
    ) { row in
      ConfiguredStage(
        id: row.int64(0), name: row.text(1), plugin: row.text(2), fingerprint: row.int64(3),
        runtime: row.int64(4), isAssetScoped: row.bool(5), attempts: row.int(6), needs: [])
    }
    for index in stages.indices {
      stages[index].needs = Set(
        try connection.all("SELECT needs FROM stage_need WHERE stage = ?", stages[index].id) {
          $0.int64(0)
        })
    }
    let ids = Dictionary(stages.map { ($0.name, $0.id) }, uniquingKeysWith: { $1 })
    let text = try connection.first(Setting.read, Setting.stages) { $0.text(0) } ?? "[]"
    for definition in StageDefinition.all(json: text) where !definition.input.isEmpty {
      guard let index = stages.firstIndex(where: { $0.name == definition.name }) else { continue }
      stages[index].input = definition.input.compactMap { reference in
        ids[reference.stage].map { ($0, reference) }
      }
      stages[index].alternatives = Set(definition.alternatives.compactMap { ids[$0] })
    }
    return stages
  }
}

extension [ConfiguredStage] {
  /// The stages that depend, directly or not, on one with one of these
  /// fingerprints, in topological order.
  func dependents(ofFingerprints fingerprints: Set<Int64>) -> [ConfiguredStage] {
    var reached = Set(filter { fingerprints.contains($0.fingerprint) }.map(\.id))
    return filter { stage in
      guard !stage.needs.isDisjoint(with: reached) else { return false }
      reached.insert(stage.id)
      return true
    }
  }
}

/// The effect of a held stage on its ready rows, in SQL over `stage` and `ledger`.
enum StageHold {
  static let failureClass = """
    CASE WHEN ledger.state = 'ready' AND stage.held IS NOT NULL THEN 'environment' \
    ELSE ledger.class END
    """
  static let reason = """
    CASE WHEN ledger.state = 'ready' AND stage.held IS NOT NULL THEN stage.held \
    ELSE ledger.reason END
    """
  /// Whether a row counts as failed: permanently, for now, or because its stage is held.
  static let isFailure = """
    (ledger.state = 'failed' OR ledger.state = 'ready' \
    AND (ledger.class IS NOT NULL OR stage.held IS NOT NULL))
    """
}
