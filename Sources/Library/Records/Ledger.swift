package import PipelineModel

/// The work done and due, as the engine sees it.
///
/// A row stands for (scope, digest or asset, fingerprint); assets refer to rows
/// through jobs. Methods may be called from any queue; each is one transaction,
/// except as noted.
package protocol Ledger: Sendable {
  /// Whether other machines can reach it, which a file in the library's folder is not there for.
  var isOnServer: Bool { get }

  /// Whether others do what this machine has no room for.
  var isBesideOthers: Bool { get }

  /// Sets the configured stages, in topological order.
  ///
  /// - Gives every asset a job for each stage, sharing an existing row with the same
  ///   fingerprint in any state.
  /// - Makes failures ready again whose runtime or limits changed, and rows skipped
  ///   because of their type if the accepted types changed.
  /// - Ends attempts that an earlier process left open as interrupted.
  /// - Deactivates stages that are no longer listed; their rows stay.
  ///
  /// Returns the jobs that this fails: suspects whose attempt ended with an earlier process, too.
  ///
  /// Costs next to nothing if nothing changed. Attempts of this process continue, so
  /// stages may change while jobs run. A stage that needs an asset-scoped one is
  /// asset-scoped itself.
  ///
  /// Updates existing assets and rows in many short transactions. If stopped, or if
  /// the process ends, the next call continues; rows not yet updated are not ready.
  ///
  /// - Parameter isStopped: whether to leave the rest; called between transactions.
  @discardableResult
  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent]

  /// Holds a stage whose jobs can't run at the moment.
  ///
  /// Its ready rows count as failures of class `environment` until it is released, also by a later
  /// process. `configure` holds stages, but releases none, because only a job shows whether one can run.
  ///
  /// - Parameter reason: a sentence; `nil` releases the stage.
  func hold(stage: String, because reason: String?) throws(CatalogError)

  /// Claims up to `limit` ready rows of a stage and records an attempt for each.
  ///
  /// Skips rows that only assets in the trash refer to.
  ///
  /// - Parameter suspects: whether to claim suspects first: rows with at least the
  ///   stage's `attempts` interruptions by the end of the process, which must run
  ///   alone. Otherwise they are skipped.
  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob]

  /// Ends attempts and makes dependents ready or skipped, in one transaction.
  ///
  /// Rendition files must be durable before the call. If a token is refused
  /// (`.staleToken`), nothing of the batch is recorded. Attempts whose rows were
  /// deleted with their asset are ignored.
  ///
  /// - Returns: paths below the library of unreferenced rendition files, for the
  ///   caller to remove.
  func complete(_ completions: [Completion]) throws(CatalogError) -> [String]

  /// Returns the attempts whose rows were deleted with their asset; their results are
  /// ignored.
  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken>

  /// Gives back attempts that never started; they don't count.
  func requeue(_ tokens: [AttemptToken]) throws(CatalogError)

  /// Counts the rows of each configured stage by state.
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]]

  /// Finds the earliest time after `time` at which a row is due for its next attempt.
  ///
  /// - Parameter time: by the ledger's clock, which other machines share; by default its present time.
  func nextDue(after time: Timestamp?) throws(CatalogError) -> DueTimes

  /// Returns renditions of a stage that are not stored where its storage policy requires.
  ///
  /// - Parameters:
  ///   - threshold: the maximum size in bytes for storage in the database;
  ///     0 for `file`, `Int.max` for `database`.
  ///   - place: what the paths of all others begin with, followed by a slash.
  func misplacedRenditions(
    stage: String, threshold: Int, place: String, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition]

  /// Records that a rendition's bytes were moved.
  ///
  /// - Throws: `.staleToken` if the rendition was replaced in the meantime; the
  ///   caller must remove what it has written.
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError)

  /// Returns the bytes of a rendition in the database; `nil` if they, or the rendition, are gone.
  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]?

  /// Returns how many bytes of a rendition the database has; `nil` if they, or the rendition, are gone.
  func size(ofRendition id: Int64) throws(CatalogError) -> Int?

  /// Deletes a rendition whose bytes are missing or damaged; its row becomes ready again.
  func invalidate(rendition: Int64) throws(CatalogError)

  /// Makes failed rows ready again and resets their attempts.
  ///
  /// - Parameter assets: the assets whose failed jobs to retry; `nil` for all, in short
  ///   transactions.
  /// - Returns: the number of retried rows.
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int
}

extension Ledger {
  /// Sets the configured stages, and updates all existing assets and rows.
  @discardableResult
  package func configure(_ stages: [StageDefinition]) throws(CatalogError) -> [JobEvent] {
    try configure(stages) { false }
  }
}

/// Times by the ledger's clock.
package struct DueTimes: Hashable, Sendable {
  /// What it says now.
  package var now: Timestamp
  /// When a row is due; `nil` if none is.
  package var next: Timestamp?

  package init(now: Timestamp, next: Timestamp?) {
    self.now = now
    self.next = next
  }
}

/// The state of a row.
package enum LedgerState: String, Hashable, Sendable, CaseIterable {
  /// A needed row is not done yet.
  case waiting
  /// May be claimed, possibly not before a given time.
  case ready
  /// Claimed by an attempt.
  case running
  case done, skipped, failed
}
