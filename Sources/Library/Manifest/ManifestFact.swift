package import PipelineModel

/// One fact of the journal.
package enum ManifestFact: Hashable, Sendable {
  /// A file is about to be imported.
  case intent(Intent)
  /// A file's bytes are stored and belong to a new asset.
  case stored(Stored)
  /// A file's bytes were already stored; says what happened to the file.
  case duplicate(Duplicate)
  /// An import or return ended without a result; the file is where it was.
  case abandoned(taking: AssetID, reason: String)
  /// An asset was moved to the trash.
  case trashed(asset: AssetID)
  /// An asset was restored from the trash.
  case restored(asset: AssetID)
  /// An asset was deleted permanently; its bytes stay until nothing refers to them and garbage is
  /// collected.
  case purged(asset: AssetID, digest: Digest)
  /// A user said something about an asset.
  case annotated(asset: AssetID, Annotation)
  /// A user asked for the failed jobs of an asset to be ready again, in a transaction with other facts.
  case retried(asset: AssetID)
  /// An asset's bytes are about to be returned to where they came from.
  case returning(Return)
  /// An asset's bytes are back where they came from, and the asset is gone.
  case returned(Return)

  /// What the program is about to import.
  package struct Intent: Hashable, Sendable {
    /// The import's ID, which also names its file in `incoming/`.
    package var taking: AssetID
    /// The absolute path of the source.
    package var source: BytePath
    /// The path relative to the source.
    package var path: BytePath
    /// The file as found.
    package var identity: FileIdentity
    package var permissions: UInt32
    /// Whether the source is removed once its bytes are safe.
    package var moves: Bool
    package var run: AssetID?

    package init(
      taking: AssetID, source: BytePath, path: BytePath, identity: FileIdentity,
      permissions: UInt32, moves: Bool, run: AssetID?
    ) {
      self.taking = taking
      self.source = source
      self.path = path
      self.identity = identity
      self.permissions = permissions
      self.moves = moves
      self.run = run
    }
  }

  /// A new asset, with everything needed to re-create its record.
  package struct Stored: Hashable, Sendable {
    package var asset: AssetID
    package var digest: Digest
    package var intent: Intent
    /// The asset previously known at the same path.
    package var supersedes: AssetID?

    package init(asset: AssetID, digest: Digest, intent: Intent, supersedes: AssetID?) {
      self.asset = asset
      self.digest = digest
      self.intent = intent
      self.supersedes = supersedes
    }
  }

  /// A file whose bytes were already stored.
  package struct Duplicate: Hashable, Sendable {
    /// What happens to the file.
    package enum Action: String, Hashable, Sendable {
      /// Removed, because the stored bytes were read again.
      case discarded
      /// Left in its folder.
      case kept
      /// Moved to `duplicates/`.
      case filed
    }

    /// The asset that has the bytes.
    package var asset: AssetID
    package var digest: Digest
    package var action: Action
    /// What was imported, or was about to be.
    package var intent: Intent

    package init(asset: AssetID, digest: Digest, action: Action, intent: Intent) {
      self.asset = asset
      self.digest = digest
      self.action = action
      self.intent = intent
    }
  }

  /// The return of an asset's bytes.
  package struct Return: Hashable, Sendable {
    /// How the bytes are returned.
    package enum Action: String, Hashable, Sendable {
      /// The original itself is renamed.
      case renamed
      /// The bytes are copied, because the original is needed or on another file system.
      case copied
      /// The bytes never left: nothing is written.
      case left
    }

    package var asset: AssetID
    package var digest: Digest
    package var action: Action
    /// Where the bytes go, and which run returns them.
    ///
    /// Its `taking` is the return's ID. In `returning`, the identity is the original's, but with
    /// the modification time that the file gets; in `returned`, it is that of the returned file.
    package var place: Intent

    package init(asset: AssetID, digest: Digest, action: Action, place: Intent) {
      self.asset = asset
      self.digest = digest
      self.action = action
      self.place = place
    }
  }

  /// The import or return that the fact concerns; otherwise the asset.
  package var taking: AssetID {
    switch self {
    case .intent(let intent): intent.taking
    case .stored(let stored): stored.intent.taking
    case .duplicate(let duplicate): duplicate.intent.taking
    case .abandoned(let taking, _): taking
    case .trashed(let asset), .restored(let asset), .purged(let asset, _),
      .annotated(let asset, _), .retried(let asset):
      asset
    case .returning(let back), .returned(let back): back.place.taking
    }
  }
}

/// A fact with its position in the journal.
package struct ManifestEntry: Hashable, Sendable {
  /// The position, counted from 1 without gaps.
  package var sequence: Int64
  package var time: Timestamp
  package var fact: ManifestFact

  package init(sequence: Int64, time: Timestamp, fact: ManifestFact) {
    self.sequence = sequence
    self.time = time
    self.fact = fact
  }
}

/// A fact's identity in the journal: its position and time.
package struct ManifestMark: Hashable, Sendable, CustomStringConvertible {
  package let sequence: Int64
  package let time: Timestamp

  init(sequence: Int64, time: Timestamp) {
    self.sequence = sequence
    self.time = time
  }

  /// Parses a `description`; `nil` for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: " ").compactMap { Int64($0) }
    guard parts.count == 2 else { return nil }
    self.init(sequence: parts[0], time: Timestamp(microseconds: parts[1]))
  }

  /// The position and the microseconds since 1970, separated by a space.
  package var description: String { "\(sequence) \(time.microseconds)" }
}
