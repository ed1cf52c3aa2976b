import Catalog
import PipelineModel
import Records
import Synchronization

/// A ledger that takes no jobs back, because its database is away.
final class AwayLedger: WrappedLedger {
  let ledger: any Ledger
  private let asked = Atomic(0)

  init(_ ledger: any Ledger) { self.ledger = ledger }

  /// How often it was asked to take jobs back.
  var requests: Int { asked.load(ordering: .relaxed) }

  func requeue(_ tokens: [AttemptToken]) throws(CatalogError) {
    asked.add(1, ordering: .relaxed)
    throw CatalogError(.unreachable, "The database is away.")
  }
}
