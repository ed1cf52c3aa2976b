/// Keys of the catalog's own settings.
enum Setting {
  static let library = "library"
  static let manifestPosition = "manifest.position"
  static let stages = "ledger.stages"

  static let read = "SELECT value FROM setting WHERE key = ?"
  static let write = """
    INSERT INTO setting (key, value) VALUES (?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """
}
