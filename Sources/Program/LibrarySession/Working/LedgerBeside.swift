import Catalog
import PipelineModel
import PipelinePlugin
import Records
import Synchronization

/// The ledger for a process that works beside the one with the library's lock.
///
/// It changes no stages. What its machine lacks, and jobs that exceed its limits, concern this process alone: they are
/// given back, for others.
final class LedgerBeside: WrappedLedger {
  private let catalog: Catalog
  var ledger: any Ledger { catalog }
  let isBesideOthers = true
  /// Jobs that were given back, until the engine has asked for them.
  private let returned = Mutex<Set<AttemptToken>>([])

  init(catalog: Catalog) { self.catalog = catalog }

  func configure(
    _ stages: [StageDefinition], isStopped: () -> Bool
  ) throws(CatalogError) -> [JobEvent] { [] }

  func hold(stage: String, because reason: String?) throws(CatalogError) {}

  func complete(_ completions: [Completion]) throws(CatalogError) -> [String] {
    let lacking = completions.filter { $0.outcome.isOfThisMachine && !$0.isByLimit }.map(\.token)
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
}

extension Completion.Outcome {
  /// Whether another machine may do better.
  fileprivate var isOfThisMachine: Bool {
    if case .failed(PluginFailure.Class.environment.rawValue, _, _) = self { true } else { false }
  }
}
