import Configuration
import Records

/// How many bytes of a rendition the database keeps.
enum StorageLimit {
  /// `auto` keeps renditions of up to this many bytes in the database, unless that is on a server.
  ///
  /// See `docs/decisions/0006-rendition-storage.md` for the measurement.
  static let automatic = 64 << 10

  /// Larger renditions are files under every policy: they would be held in memory as a whole, and
  /// databases limit a value to 1 GB.
  static let greatestInDatabase = 64 << 20
}

extension StageConfiguration.Storage {
  /// The most bytes that the policy keeps in a ledger's database; -1 for none.
  func mostInDatabase(of ledger: any Ledger) -> Int {
    switch self {
    case .database: StorageLimit.greatestInDatabase
    case .file: -1
    case .auto: ledger.isOnServer ? StorageLimit.greatestInDatabase : StorageLimit.automatic
    }
  }
}
