import PipelineModel

/// How far existing assets and rows have followed a change of stages.
///
/// The catalog keeps it until the work is done, so that it continues after a kill. Assets added in
/// the meantime get their jobs for the new stages at once.
struct ConfigurationProgress: Codable {
  /// Stages whose jobs are assigned to every asset, in key order.
  var assigned: [String] = []
  /// Stages whose plugin now accepts other types.
  var reconsidered: [String] = []
  /// The last asset with assigned jobs, in hexadecimal; empty before the first.
  var lastAsset = ""
  /// Whether all assets have their jobs; the rows follow, in the order of digests.
  var hasAssigned = false
  /// The last digest with updated rows; empty before the first.
  var lastDigest = ""

  static func read(_ connection: Connection) throws(CatalogError) -> ConfigurationProgress? {
    let text = try connection.first(Setting.read, Setting.progress) { $0.text(0) }
    guard let text else { return nil }
    // If unreadable, start over for all stages.
    if let progress = try? JSONText.decode(Self.self, from: text) { return progress }
    let all = try ConfiguredStage.all(connection).map(\.name)
    return ConfigurationProgress(assigned: all, reconsidered: all)
  }

  func write(_ connection: Connection) throws(CatalogError) {
    try connection.execute(Setting.write, Setting.progress, try Catalog.json(self))
  }
}
