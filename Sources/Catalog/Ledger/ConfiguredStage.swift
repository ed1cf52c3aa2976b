/// A recorded stage.
struct ConfiguredStage {
  var id: Int64
  var name: String
  /// The row ID of its fingerprint.
  var fingerprint: Int64
  /// The row ID of its versions and limits.
  var runtime: Int64
  var isAssetScoped: Bool
  var attempts: Int
  /// The row IDs of needed stages.
  var needs: Set<Int64>

  /// Reads the configured stages, in topological order.
  static func all(_ connection: Connection) throws(CatalogError) -> [ConfiguredStage] {
    var stages = try connection.all(
      """
      SELECT id, name, fingerprint, runtime, asset_scoped, attempts FROM stage
      WHERE active = 1 ORDER BY position
      """
    ) { row in
      ConfiguredStage(
        id: row.int64(0), name: row.text(1), fingerprint: row.int64(2), runtime: row.int64(3),
        isAssetScoped: row.bool(4), attempts: row.int(5), needs: [])
    }
    for index in stages.indices {
      stages[index].needs = Set(
        try connection.all("SELECT needs FROM stage_need WHERE stage = ?", stages[index].id) {
          $0.int64(0)
        })
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
