package import PipelineModel

/// The work that is done or due, as the engine sees it.
///
/// A row stands for (scope, digest or asset, fingerprint); assets refer to rows
/// by jobs. Methods may be called from any queue; each is one transaction.
package protocol Ledger: Sendable {
  /// Says which stages there are, in topological order.
  ///
  /// Gives every asset a job for each stage (a row that is there already under
  /// the same fingerprint is shared, whatever its state), makes permanent
  /// failures ready again whose runtime or limits differ, ends attempts that a
  /// killed process left open as interrupted, and lets stages go that are no
  /// longer listed (their rows stay). Costs next to nothing if nothing changed.
  func configure(_ stages: [StageDefinition]) throws(CatalogError)

  /// Takes up to `limit` ready rows of a stage and records an attempt for each.
  ///
  /// - Parameter suspects: whether to take rows, too, of which `attempts`
  ///   attempts were interrupted by the end of the whole process; they are to
  ///   run alone. Without it they are passed over.
  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob]

  /// Ends attempts, makes dependents ready or skipped, in one transaction.
  ///
  /// - Returns: files of renditions that nothing refers to any more, as paths
  ///   below the library, for the caller to remove.
  func complete(_ completions: [Completion]) throws(CatalogError) -> [String]

  /// Takes attempts back that never started; they count for nothing.
  func giveBack(_ tokens: [AttemptToken]) throws(CatalogError)

  /// Counts the rows of each configured stage by state.
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]]

  /// Returns the earliest time at which a row that waits for its next attempt is due.
  func nextDue() throws(CatalogError) -> Timestamp?

  /// Renditions of a stage that lie elsewhere than a storage policy wants them.
  ///
  /// - Parameter threshold: the most bytes that `auto` keeps in the database;
  ///   0 for `file`, `Int.max` for `database`.
  func misplacedRenditions(
    stage: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition]

  /// Notes that a rendition's bytes were moved.
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError)

  /// Forgets a rendition whose bytes are missing or damaged: its row becomes ready again.
  func invalidate(rendition: Int64) throws(CatalogError)

  /// Makes failed rows ready again, with their attempts counted anew.
  ///
  /// - Parameter assets: the assets whose failed jobs are meant; `nil` for all.
  /// - Returns: how many rows became ready.
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int
}

/// The state of a row.
package enum LedgerState: String, Hashable, Sendable, CaseIterable {
  /// Some needed row is not done yet.
  case waiting
  /// May be claimed, perhaps not before a given time.
  case ready
  /// Claimed by an attempt.
  case running
  case done, skipped, failed
}

/// A stage as the ledger needs to know it.
package struct StageDefinition: Hashable, Sendable {
  package var name: String
  package var plugin: String
  package var fingerprint: Fingerprint
  /// Whether rows belong to an asset rather than to the bytes.
  package var isAssetScoped: Bool
  /// Names of needed stages, implicit ones included.
  package var needs: [String]
  /// How often a transient failure or an interruption is tried.
  package var attempts: Int
  /// Plugin and decoder versions; a change makes permanent failures ready again.
  package var runtime: String
  /// The limits as sorted-key JSON; a change makes permanent failures ready again.
  package var limits: String

  package init(
    name: String, plugin: String, fingerprint: Fingerprint, isAssetScoped: Bool, needs: [String],
    attempts: Int, runtime: String, limits: String
  ) {
    self.name = name
    self.plugin = plugin
    self.fingerprint = fingerprint
    self.isAssetScoped = isAssetScoped
    self.needs = needs
    self.attempts = attempts
    self.runtime = runtime
    self.limits = limits
  }
}

/// The name of one attempt; a completed or abandoned one is refused.
package struct AttemptToken: Hashable, Sendable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A row that was claimed, with what its job needs.
package struct ClaimedJob: Hashable, Sendable {
  package var token: AttemptToken
  package var stage: String
  /// An asset that refers to the row: the oldest one.
  package var asset: AssetID
  package var name: BytePath
  package var digest: Digest
  package var size: Int
  package var fingerprint: Fingerprint
  package var isAssetScoped: Bool
  /// Facts of the needed stages, by stage name.
  package var facts: [String: JSONValue]
  /// Which attempt this is, from 1.
  package var attempt: Int
  /// Whether earlier attempts ended with the process, so that this one runs alone.
  package var isSuspect: Bool
}

/// How an attempt ended.
package struct Completion: Sendable {
  package enum Outcome: Sendable {
    case done(facts: JSONValue, renditions: [NewRendition])
    case skipped(reason: String)
    /// `class` is `permanent`, `transient` or `environment`. With `retryAt` the
    /// row becomes ready again for then; without it, it is failed.
    case failed(class: String, reason: String, retryAt: Timestamp?)
  }

  package var token: AttemptToken
  package var outcome: Outcome
  /// Seconds that the work took.
  package var seconds: Double

  package init(token: AttemptToken, outcome: Outcome, seconds: Double) {
    self.token = token
    self.outcome = outcome
    self.seconds = seconds
  }
}

/// Where a rendition's bytes are.
package enum RenditionContent: Hashable, Sendable {
  /// In the catalog.
  case database([UInt8])
  /// In a file, already durable, at this path below the library.
  case file(path: String)
}

/// A rendition to be recorded.
package struct NewRendition: Hashable, Sendable {
  package var name: String
  package var mediaType: String
  package var width: Int
  package var height: Int
  package var bytes: Int
  package var digest: Digest
  package var from: String?
  package var content: RenditionContent

  package init(
    name: String, mediaType: String, width: Int, height: Int, bytes: Int, digest: Digest,
    from: String?, content: RenditionContent
  ) {
    self.name = name
    self.mediaType = mediaType
    self.width = width
    self.height = height
    self.bytes = bytes
    self.digest = digest
    self.from = from
    self.content = content
  }
}

/// A rendition that is to move.
package struct MisplacedRendition: Hashable, Sendable {
  package var id: Int64
  package var name: String
  package var mediaType: String
  package var digest: Digest
  /// The original's digest or the asset's key as hex, and the fingerprint, as the file name uses them.
  package var owner: String
  package var fingerprint: Fingerprint
  package var content: RenditionContent

  package init(
    id: Int64, name: String, mediaType: String, digest: Digest, owner: String,
    fingerprint: Fingerprint, content: RenditionContent
  ) {
    self.id = id
    self.name = name
    self.mediaType = mediaType
    self.digest = digest
    self.owner = owner
    self.fingerprint = fingerprint
    self.content = content
  }
}
