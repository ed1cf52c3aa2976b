import PipelineModel
import Records

/// A recorded stage.
struct ConfiguredStage {
  var id: Int64
  var name: String
  /// The id of the plugin.
  var plugin: String
  /// The row ID of its fingerprint.
  var fingerprint: Int64
  /// The fingerprint itself.
  var value: Fingerprint
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
      SELECT stage.id, name, plugin, fingerprint, runtime, asset_scoped, attempts, value
      FROM stage CROSS JOIN fingerprint ON fingerprint.id = stage.fingerprint
      WHERE active = 1 ORDER BY position
      """
    ) { (row) throws(CatalogError) in
      ConfiguredStage(
        id: row.int64(0), name: row.text(1), plugin: row.text(2), fingerprint: row.int64(3),
        value: Fingerprint(try row.digest(7)), runtime: row.int64(4), isAssetScoped: row.bool(5),
        attempts: row.int(6), needs: [])
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

/// What a process that works beside others has to do with a stage.
struct OwnStage {
  /// It works on the stage only while the library has this one.
  var fingerprint: Fingerprint
  /// The row ID of its own versions and limits.
  var runtime: Int64
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
