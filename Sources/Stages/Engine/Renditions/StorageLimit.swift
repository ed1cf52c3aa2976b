import Configuration

/// How many bytes of a rendition the database keeps.
enum StorageLimit {
  /// `auto` keeps renditions of up to this many bytes in the database.
  ///
  /// See `docs/decisions/0006-rendition-storage.md` for the measurement.
  static let automatic = 64 << 10

  /// Larger renditions are files under every policy: they would be held in memory as a whole, and
  /// SQLite limits a value to 1 GB.
  static let greatestInDatabase = 64 << 20
}

extension StageConfiguration.Storage {
  /// The most bytes that the policy keeps in the database; -1 for none.
  var mostInDatabase: Int {
    switch self {
    case .database: StorageLimit.greatestInDatabase
    case .file: -1
    case .auto: StorageLimit.automatic
    }
  }
}
