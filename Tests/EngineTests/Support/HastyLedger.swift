import Catalog
import PipelineModel
import Synchronization

/// A ledger in which a failed row is due again at once, whatever delay it was given.
final class HastyLedger: Ledger {
  private let ledger: any Ledger
  private let seen = Mutex<[Double?]>([])

  init(_ ledger: any Ledger) { self.ledger = ledger }

  /// The delays that failures were given, in seconds; `nil` for one without another try.
  var delays: [Double?] { seen.withLock { $0 } }

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    var hastened = completions
    for index in completions.indices {
      guard case .failed(let kind, let reason, let retryAt) = completions[index].outcome else {
        continue
      }
      let now = Timestamp.now
      seen.withLock { seen in
        seen.append(retryAt.map { Double($0.microseconds - now.microseconds) / 1e6 })
      }
      hastened[index].outcome = .failed(
        class: kind, reason: reason, retryAt: retryAt.map { _ in now })
    }
    return try ledger.complete(hastened)
  }

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    try ledger.claim(stage: stage, limit: limit, suspects: suspects)
  }
  func configure(_ stages: [StageDefinition]) throws(CatalogError) {
    try ledger.configure(stages)
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
