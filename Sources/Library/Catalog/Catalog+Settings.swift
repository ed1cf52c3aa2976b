package import PipelineModel
package import Records

extension Catalog {
  /// The manifest position up to which the catalog has applied facts; 0 in a new catalog.
  package var manifestPosition: Int64 {
    get throws(CatalogError) {
      try read { (connection) throws(CatalogError) in try connection.manifestPosition() }
    }
  }

  /// Returns the newest asset key, after which new keys must sort.
  package func newestAssetID() throws(CatalogError) -> AssetID? {
    try read { (connection) throws(CatalogError) in try connection.newestAssetID() }
  }

  /// Returns the text stored under a key, or `nil`.
  package func setting(_ key: String) throws(CatalogError) -> String? {
    try read { (connection) throws(CatalogError) in
      try connection.first(Setting.read, "user." + key) { $0.text(0) }
    }
  }

  /// Stores a text under a key; `nil` removes it.
  package func set(_ key: String, to value: String?) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      if let value {
        try writer.connection.execute(Setting.write, "user." + key, value)
      } else {
        try writer.connection.execute("DELETE FROM setting WHERE key = ?", "user." + key)
      }
    }
  }

  /// Stores a text under a key, and has other processes compare their configuration with the library's again.
  package func announce(_ key: String, _ value: String) throws(CatalogError) {
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(Setting.write, "user." + key, value)
      try writer.renewGeneration()
    }
  }

  /// Returns the stored keys that begin with a prefix.
  package func settings(beginningWith prefix: String) throws(CatalogError) -> [String] {
    let whole = "user." + prefix
    return try read { (connection) throws(CatalogError) in
      try connection.all(
        "SELECT substr(key, 6) FROM setting WHERE substr(key, 1, ?) = ? ORDER BY key",
        whole.unicodeScalars.count, whole
      ) { $0.text(0) }
    }
  }

  /// Records the start of a run.
  package func beginRun(_ run: RunRecord) throws(CatalogError) {
    let counters = try Self.json(run.counters)
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        """
        INSERT INTO run (id, verb, started_at, ended_at, counters) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET verb = excluded.verb, started_at = excluded.started_at
        """, run.id, run.verb, run.startedAt, run.endedAt, counters)
    }
  }

  /// Records the end of a run, with the counters of its summary.
  package func endRun(
    _ id: AssetID, counters: [String: Int], at time: Timestamp
  ) throws(CatalogError) {
    let counters = try Self.json(counters)
    try write { (writer) throws(CatalogError) in
      try writer.connection.execute(
        "UPDATE run SET ended_at = ?, counters = ? WHERE id = ?", time, counters, id)
    }
  }

  /// Encodes a value as one line of JSON.
  static func json(_ value: some Encodable) throws(CatalogError) -> String {
    do {
      return try JSONText.encode(value)
    } catch {
      throw CatalogError(.database, "A value can't be written as JSON: \(error).")
    }
  }
}

extension Connection {
  /// The manifest position up to which the catalog has applied facts.
  func manifestPosition() throws(CatalogError) -> Int64 {
    try first(Setting.read, Setting.manifestPosition) { Int64($0.text(0)) ?? 0 } ?? 0
  }

  /// The newest asset key, after which new keys sort.
  func newestAssetID() throws(CatalogError) -> AssetID? {
    try first("SELECT max(id) FROM asset WHERE true") {
      (row) throws(CatalogError) in try row.optionalAssetID(0)
    } ?? nil
  }
}

/// Keys of the catalog's own settings.
enum Setting {
  static let library = "library"
  static let manifestPosition = "manifest.position"
  static let stages = "ledger.stages"
  /// Present once the table `deletion` has all deletions of the manifest.
  static let deletions = "deletions.complete"

  /// The `RenditionParts`; absent if there are none.
  static let parts = "ledger.parts"
  /// The `ConfigurationProgress` after a change of stages.
  static let progress = "ledger.progress"

  /// A random text for each change of what writers keep in memory of stages and groups; only in PostgreSQL.
  static let generation = "ledger.generation"

  /// How far `sighting` was searched for rows that assets imply; removed when done.
  static let impliedSightings = "sightings.implied"

  /// The `GroupPolicy` as text; absent for the standard one.
  static let groupPolicy = "groups.policy"
  /// The last asset, in hexadecimal, whose group follows the policy; absent if all do.
  static let groupProgress = "groups.progress"

  /// The `PictureProgress`.
  static let pictures = "pictures"

  /// The `Counters.version` once all rows are counted.
  static let counters = "counters"

  /// The last rendition, by key, that was found or is made again after the bytes of renditions were lost;
  /// absent unless they were.
  static let lostRenditions = "renditions.lost"

  static let read = "SELECT value FROM setting WHERE key = ?"
  static let write = """
    INSERT INTO setting (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """
}
