package import PipelineModel

/// A ledger that does as another does, but for what it has of its own.
package protocol WrappedLedger: Ledger {
  var ledger: any Ledger { get }
}

extension WrappedLedger {
  package var isOnServer: Bool { ledger.isOnServer }
  package var isBesideOthers: Bool { ledger.isBesideOthers }
  package func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob]
  {
    try ledger.claim(stage: stage, limit: limit, suspects: suspects)
  }
  package func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    try ledger.complete(completions)
  }
  package func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] {
    try ledger.configure(stages, isStopped: isStopped)
  }
  package func hold(stage: String, because reason: String?) throws(CatalogError) {
    try ledger.hold(stage: stage, because: reason)
  }
  package func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    try ledger.withdrawn(among: tokens)
  }
  package func requeue(_ tokens: [AttemptToken]) throws(CatalogError) { try ledger.requeue(tokens) }
  package func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] {
    try ledger.backlog()
  }
  package func nextDue(after time: Timestamp?) throws(CatalogError) -> DueTimes {
    try ledger.nextDue(after: time)
  }
  package func misplacedRenditions(
    stage: String, threshold: Int, place: String, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try ledger.misplacedRenditions(
      stage: stage, threshold: threshold, place: place, limit: limit)
  }
  package func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try ledger.relocate(rendition, to: content)
  }
  package func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    try ledger.bytes(ofRendition: id)
  }
  package func size(ofRendition id: Int64) throws(CatalogError) -> Int? {
    try ledger.size(ofRendition: id)
  }
  package func invalidate(rendition: Int64) throws(CatalogError) {
    try ledger.invalidate(rendition: rendition)
  }
  package func retry(assets: [AssetID]?) throws(CatalogError) -> Int {
    try ledger.retry(assets: assets)
  }
}
