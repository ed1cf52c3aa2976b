import Configuration
import Records
import Renditions

/// How many bytes of a rendition the database keeps.
enum StorageLimit {
  /// `auto` keeps renditions of up to this many bytes in the database; all that a database on a server takes, where
  /// the others would be files that other machines don't reach.
  ///
  /// See `docs/decisions/0006-rendition-storage.md` for the measurement.
  static let automatic = 64 << 10

  /// Larger renditions are files under every policy: they would be held in memory as a whole, and
  /// databases limit a value to 1 GB.
  static let greatestInDatabase = 64 << 20
}

extension Engine {
  /// The most bytes of a rendition that a policy keeps in the ledger's database; -1 for none.
  func mostInDatabase(_ policy: StageConfiguration.Storage) -> Int {
    switch policy {
    case .database: StorageLimit.greatestInDatabase
    case .file: -1
    case .auto:
      ledger.isOnServer && !renditions.isOnServer
        ? StorageLimit.greatestInDatabase : StorageLimit.automatic
    }
  }
}
