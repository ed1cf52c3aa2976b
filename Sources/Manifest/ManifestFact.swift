package import PipelineModel

/// One fact of the journal.
package enum ManifestFact: Hashable, Sendable {
  /// A file is about to be taken.
  case intent(Intent)
  /// A file's bytes are stored and belong to a new asset.
  case stored(Stored)
  /// A file's bytes were stored already; what became of the file.
  case duplicate(Duplicate)
  /// A taking, or a giving back, ended without a result; the file is where it was.
  case abandoned(taking: AssetID, reason: String)
  /// An asset was put into the trash.
  case trashed(asset: AssetID)
  /// An asset was taken out of the trash.
  case restored(asset: AssetID)
  /// An asset was deleted for good; its bytes stay until nothing refers to them
  /// and garbage is collected.
  case purged(asset: AssetID, digest: Digest)
  /// An asset's bytes are about to be given back to where they came from.
  case returning(Return)
  /// An asset's bytes are where they came from, and the asset is no more.
  case returned(Return)

  /// What the program is about to take.
  package struct Intent: Hashable, Sendable {
    /// The name of the taking, also of its file in `incoming/`.
    package var taking: AssetID
    /// The absolute path of the source.
    package var source: BytePath
    /// The path relative to the source.
    package var path: BytePath
    /// The file as it was found.
    package var identity: FileIdentity
    /// The permission bits.
    package var permissions: UInt32
    /// Whether the source goes once its bytes are safe.
    package var moves: Bool
    /// The run.
    package var run: AssetID?

    /// Makes it from its parts.
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

  /// A new asset: all that is needed to make its record again.
  package struct Stored: Hashable, Sendable {
    /// The asset that it is about.
    package var asset: AssetID
    /// The SHA-256 of the bytes.
    package var digest: Digest
    /// What was taken.
    package var intent: Intent
    /// The asset known at the same path before.
    package var supersedes: AssetID?

    /// Makes it from its parts.
    package init(asset: AssetID, digest: Digest, intent: Intent, supersedes: AssetID?) {
      self.asset = asset
      self.digest = digest
      self.intent = intent
      self.supersedes = supersedes
    }
  }

  /// A file whose bytes were stored before.
  package struct Duplicate: Hashable, Sendable {
    /// What became of the file.
    package enum Action: String, Hashable, Sendable {
      /// It is removed, because the stored bytes were read again.
      case discarded
      /// It stays in its folder.
      case kept
      /// It is in `duplicates/`.
      case filed
    }

    /// The asset that it is about.
    package var asset: AssetID
    /// The SHA-256 of the bytes.
    package var digest: Digest
    /// What is done with it.
    package var action: Action
    /// What was taken, or was about to be.
    package var intent: Intent

    /// Makes it from its parts.
    package init(asset: AssetID, digest: Digest, action: Action, intent: Intent) {
      self.asset = asset
      self.digest = digest
      self.action = action
      self.intent = intent
    }
  }

  /// The giving back of an asset's bytes.
  package struct Return: Hashable, Sendable {
    /// How the bytes get back.
    package enum Action: String, Hashable, Sendable {
      /// The original itself is renamed.
      case renamed
      /// They are copied, because the original is needed or on another file system.
      case copied
      /// They were never gone: nothing is written.
      case left
    }

    /// The asset that it is about.
    package var asset: AssetID
    /// The SHA-256 of the bytes.
    package var digest: Digest
    /// How the bytes get back.
    package var action: Action
    /// Where they go, and who asked.
    ///
    /// Its `taking` names the giving back. In `returning` the identity is that of
    /// the original, but with the modification time that the file is to have; in
    /// `returned` it is that of the file in its place.
    package var place: Intent

    /// Makes it from its parts.
    package init(asset: AssetID, digest: Digest, action: Action, place: Intent) {
      self.asset = asset
      self.digest = digest
      self.action = action
      self.place = place
    }
  }

  /// The taking or giving back that the fact is about; the asset where it is about neither.
  package var taking: AssetID {
    switch self {
    case .intent(let intent): intent.taking
    case .stored(let stored): stored.intent.taking
    case .duplicate(let duplicate): duplicate.intent.taking
    case .abandoned(let taking, _): taking
    case .trashed(let asset), .restored(let asset), .purged(let asset, _): asset
    case .returning(let back), .returned(let back): back.place.taking
    }
  }
}

/// A fact with its place in the journal.
package struct ManifestEntry: Hashable, Sendable {
  /// Counted from 1 without gaps.
  package var sequence: Int64
  /// When it was written.
  package var time: Timestamp
  /// The fact.
  package var fact: ManifestFact
}
