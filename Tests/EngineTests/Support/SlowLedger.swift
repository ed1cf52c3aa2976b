import Catalog
import Dispatch
import PipelineModel
import Synchronization

/// A ledger whose first claim takes as long as a test wants.
final class SlowLedger: Ledger {
  /// Signalled once rows are claimed, before the caller hears of them.
  let isClaiming = DispatchSemaphore(value: 0)
  /// Lets the caller hear of them.
  let mayGoOn = DispatchSemaphore(value: 0)
  private let ledger: any Ledger
  private let isFirst = Atomic(true)

  init(_ ledger: any Ledger) { self.ledger = ledger }

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    let jobs = try ledger.claim(stage: stage, limit: limit, suspects: suspects)
    if isFirst.exchange(false, ordering: .relaxed) {
      isClaiming.signal()
      mayGoOn.wait()
    }
    return jobs
  }

  func configure(_ stages: [StageDefinition]) throws(CatalogError) {
    try ledger.configure(stages)
  }
  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    try ledger.complete(completions)
  }
  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    try ledger.withdrawn(among: tokens)
  }
  func giveBack(_ tokens: [AttemptToken]) throws(CatalogError) { try ledger.giveBack(tokens) }
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] { try ledger.backlog() }
  func nextDue() throws(CatalogError) -> Timestamp? { try ledger.nextDue() }
  func misplacedRenditions(
    stage: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try ledger.misplacedRenditions(stage: stage, threshold: threshold, limit: limit)
  }
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try ledger.relocate(rendition, to: content)
  }
  func invalidate(rendition: Int64) throws(CatalogError) {
    try ledger.invalidate(rendition: rendition)
  }
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int { try ledger.retry(assets: assets) }
}
