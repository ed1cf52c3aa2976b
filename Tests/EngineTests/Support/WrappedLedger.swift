import Catalog
import PipelineModel
import Records

/// A ledger that does as another does, but for what a test has otherwise.
protocol WrappedLedger: Ledger {
  var ledger: any Ledger { get }
}

extension WrappedLedger {
  var isOnServer: Bool { ledger.isOnServer }
  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    try ledger.claim(stage: stage, limit: limit, suspects: suspects)
  }
  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    try ledger.complete(completions)
  }
  @discardableResult
  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] {
    try ledger.configure(stages, isStopped: isStopped)
  }
  func hold(stage: String, because reason: String?) throws(CatalogError) {
    try ledger.hold(stage: stage, because: reason)
  }
  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    try ledger.withdrawn(among: tokens)
  }
  func requeue(_ tokens: [AttemptToken]) throws(CatalogError) { try ledger.requeue(tokens) }
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] { try ledger.backlog() }
  func nextDue(after time: Timestamp) throws(CatalogError) -> Timestamp? {
    try ledger.nextDue(after: time)
  }
  func misplacedRenditions(
    stage: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try ledger.misplacedRenditions(stage: stage, threshold: threshold, limit: limit)
  }
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try ledger.relocate(rendition, to: content)
  }
  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    try ledger.bytes(ofRendition: id)
  }
  func size(ofRendition id: Int64) throws(CatalogError) -> Int? {
    try ledger.size(ofRendition: id)
  }
  func invalidate(rendition: Int64) throws(CatalogError) {
    try ledger.invalidate(rendition: rendition)
  }
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int { try ledger.retry(assets: assets) }
}
