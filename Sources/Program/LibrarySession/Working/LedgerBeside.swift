import Catalog
import PipelineModel
import PipelinePlugin
import Records
import Synchronization

/// The ledger for a process that works beside the one with the library's lock.
///
/// It changes no stages. What its machine lacks, and jobs that exceed its limits, concern this process alone: they are
/// given back, for others.
final class LedgerBeside: Ledger {
  private let catalog: Catalog
  /// Jobs that were given back, until the engine has asked for them.
  private let returned = Mutex<Set<AttemptToken>>([])

  init(catalog: Catalog) { self.catalog = catalog }

  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] { [] }

  func hold(stage: String, because reason: String?) throws(CatalogError) {}

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    let lacking = completions.filter { $0.outcome.isOfThisMachine }.map(\.token)
    let tooMuch = completions.filter(\.isByLimit).map(\.token)
    if !lacking.isEmpty { try catalog.requeue(lacking) }
    if !tooMuch.isEmpty { try catalog.decline(tooMuch) }
    let back = Set(lacking + tooMuch)
    returned.withLock { $0.formUnion(back) }
    let others = completions.filter { !back.contains($0.token) }
    return others.isEmpty ? [] : try catalog.complete(others)
  }

  func withdrawn(among tokens: [AttemptToken]) throws(CatalogError) -> Set<AttemptToken> {
    let mine = returned.withLock { returned in
      defer { returned.subtract(tokens) }
      return returned.intersection(tokens)
    }
    return try catalog.withdrawn(among: tokens).union(mine)
  }

  // MARK: As it is

  var isOnServer: Bool { catalog.isOnServer }

  func claim(stage: String, limit: Int, suspects: Bool) throws(CatalogError) -> [ClaimedJob] {
    try catalog.claim(stage: stage, limit: limit, suspects: suspects)
  }
  func requeue(_ tokens: [AttemptToken]) throws(CatalogError) { try catalog.requeue(tokens) }
  func backlog() throws(CatalogError) -> [String: [LedgerState: Int]] { try catalog.backlog() }
  func nextDue(after time: Timestamp) throws(CatalogError) -> Timestamp? {
    try catalog.nextDue(after: time)
  }
  func misplacedRenditions(
    stage: String, threshold: Int, limit: Int
  ) throws(CatalogError) -> [MisplacedRendition] {
    try catalog.misplacedRenditions(stage: stage, threshold: threshold, limit: limit)
  }
  func relocate(_ rendition: Int64, to content: RenditionContent) throws(CatalogError) {
    try catalog.relocate(rendition, to: content)
  }
  func bytes(ofRendition id: Int64) throws(CatalogError) -> [UInt8]? {
    try catalog.bytes(ofRendition: id)
  }
  func size(ofRendition id: Int64) throws(CatalogError) -> Int? {
    try catalog.size(ofRendition: id)
  }
  func invalidate(rendition: Int64) throws(CatalogError) {
    try catalog.invalidate(rendition: rendition)
  }
  func retry(assets: [AssetID]?) throws(CatalogError) -> Int { try catalog.retry(assets: assets) }
}

extension Completion.Outcome {
  /// Whether another machine may do better.
  fileprivate var isOfThisMachine: Bool {
    if case .failed(PluginFailure.Class.environment.rawValue, _, _) = self { true } else { false }
  }
}
