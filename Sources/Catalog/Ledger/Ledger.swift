package import PipelineModel

/// The work that is done or due, as the engine sees it.
///
/// A row stands for (scope, digest or asset, fingerprint); assets refer to rows
/// by jobs. Methods may be called from any queue; each is one transaction.
package protocol Ledger: Sendable {
  /// Says which stages there are, in topological order.
  ///
  /// Gives every asset a job for each stage (a row that is there already under
  /// the same fingerprint is shared, whatever its state), makes failures ready
  /// again whose runtime or limits differ, and what was skipped before the plugin
  /// was asked if that accepts other types now, ends attempts that an earlier process
  /// left open as interrupted, and lets stages go that are no longer listed
  /// (their rows stay). Costs next to nothing if nothing changed. Attempts of
  /// this process go on, so that stages may be changed while jobs run. A stage
  /// that needs an asset-scoped one is asset-scoped itself.
  ///
  /// What is to be done for assets and rows that are there is done in many short
  /// transactions. Where it is stopped, or the process ends, the next call goes on,
  /// and what is not configured yet is not ready.
  ///
  /// - Parameter isStopped: whether to leave the rest; asked between transactions.
  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError)

  /// Says why no job of a stage can run at the moment: its ready rows count as failures of class
  /// `environment` until `configure` says otherwise, or this does.
  ///
  /// - Parameter reason: a sentence; `nil` if jobs can run.
  func hold(stage: String, because reason: String?) throws(CatalogError)

  /// Takes up to `limit` ready rows of a stage and records an attempt for each.
  ///
  /// Rows that only assets in the trash refer to are left alone.
  ///
  /// - Parameter suspects: whether to take rows, too, of which `attempts`
  ///   attempts were interrupted by the end of the whole process; they are to
  ///   run alone. Without it they are passed over; with it they come first.
  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob]

  /// Ends attempts, makes dependents ready or skipped, in one transaction.
  ///
  /// The files of renditions are durable before this is called. If a token is
  /// refused (`.staleToken`), nothing of the batch is recorded. One whose row
  /// went with its asset is passed over.
  ///
  /// - Returns: files of renditions that nothing refers to any more, as paths
  ///   below the library, for the caller to remove.
  func complete(_ completions: [Completion]) throws(CatalogError) -> [String]

  /// Returns those attempts whose rows went with their asset: nobody wants to hear
  /// what comes of them.
  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken>

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
  ///
  /// - Throws: `.staleToken` if the rendition was replaced meanwhile: what was
  ///   written for it is to be removed.
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError)

  /// Forgets a rendition whose bytes are missing or damaged: its row becomes ready again.
  func invalidate(rendition: Int64) throws(CatalogError)

  /// Makes failed rows ready again, with their attempts counted anew.
  ///
  /// - Parameter assets: the assets whose failed jobs are meant; `nil` for all.
  /// - Returns: how many rows became ready.
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int
}

extension Ledger {
  /// Says which stages there are, and waits for all that follows from it.
  package func configure(_ stages: [StageDefinition]) throws(CatalogError) {
    try configure(stages) { false }
  }
}
