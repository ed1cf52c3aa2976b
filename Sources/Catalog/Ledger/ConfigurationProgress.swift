import PipelineModel

/// How far assets and rows have come to what a change of the stages asks for.
///
/// It is kept in the catalog until all is done, and goes on from there after a kill. Assets that
/// are added meanwhile get their jobs for the new stages at once.
struct ConfigurationProgress: Codable {
  /// Stages whose jobs are given to every asset, in the order of keys.
  var assigned: [String] = []
  /// Stages whose plugin accepts other types than before.
  var reconsidered: [String] = []
  /// The last asset that has its jobs, in hexadecimal; empty before the first.
  var lastAsset = ""
  /// Whether all assets have their jobs; then the rows follow, in the order of digests.
  var hasAssigned = false
  /// The last digest whose rows are as they should be; empty before the first.
  var lastDigest = ""

  static func read(_ connection: Connection) throws(CatalogError) -> ConfigurationProgress? {
    let text = try connection.first(Setting.read, Setting.progress) { $0.text(0) }
    guard let text else { return nil }
    // What can't be read is begun anew, for all stages.
    if let progress = try? JSONText.decode(Self.self, from: text) { return progress }
    let all = try ConfiguredStage.all(connection).map(\.name)
    return ConfigurationProgress(assigned: all, reconsidered: all)
  }

  func write(_ connection: Connection) throws(CatalogError) {
    try connection.execute(Setting.write, Setting.progress, try Catalog.json(self))
  }
}
