/// Keys of the catalog's own settings.
enum Setting {
  static let library = "library"
  static let manifestPosition = "manifest.position"
  static let stages = "ledger.stages"
  /// Present once the table `deletion` has all deletions of the manifest.
  static let deletions = "deletions.complete"

  /// The `ConfigurationProgress` after a change of stages.
  static let progress = "ledger.progress"

  /// How far `sighting` was searched for rows that assets imply; removed when done.
  static let impliedSightings = "sightings.implied"

  static let read = "SELECT value FROM setting WHERE key = ?"
  static let write = """
    INSERT INTO setting (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """
}
